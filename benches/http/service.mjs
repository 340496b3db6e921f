// A stand-in for the service that speaks TLS: HTTP/1.1 or HTTP/2, answers after a while, and may stand behind a slow line.
//
//     node service.mjs (http1|http2) LATENCY_MS RTT_MS CERT KEY
//
// It keeps no templates. It prints its port, and after SIGTERM how many requests and connections it had.
import http2 from "node:http2";
import https from "node:https";
import net from "node:net";
import { readFileSync } from "node:fs";
import { randomUUID } from "node:crypto";

const [protocol, latency, rtt, cert, key] = process.argv.slice(2);
const options = { cert: readFileSync(cert), key: readFileSync(key) };
let requests = 0;
let connections = 0;

const info = JSON.stringify({ status: "Success", user_id: 1, email: "bench@example.com" });

function handle(request, response) {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    if (request.url === "/system/info") {
      response.setHeader("content-type", "application/json");
      response.end(info);
      return;
    }
    requests += 1;
    const { template } = JSON.parse(Buffer.concat(pieces).toString());
    const stored = { status: "Success", template: { ...template, id: template.id ?? randomUUID() } };
    setTimeout(() => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(stored));
    }, Number(latency));
  });
}

const server = protocol === "http2" ? http2.createSecureServer(options, handle) : https.createServer(options, handle);
server.on("connection", () => (connections += 1));

// A line: what goes in comes out half a round trip later and in its order, and the first bytes one round trip more, as after a TCP handshake.
function line(from, to, first) {
  const queue = [];
  let ready = Date.now() + first;
  const drain = () => {
    while (queue.length > 0 && queue[0].at <= Date.now()) {
      const { piece } = queue.shift();
      if (piece === null) to.end();
      else if (to.writable) to.write(piece);
    }
    if (queue.length > 0) setTimeout(drain, queue[0].at - Date.now());
  };
  const put = (piece) => {
    ready = Math.max(ready, Date.now() + Number(rtt) / 2);
    queue.push({ at: ready, piece });
    if (queue.length === 1) setTimeout(drain, ready - Date.now());
  };
  from.on("data", put);
  from.on("end", () => put(null));
  from.on("error", () => to.destroy());
}

server.listen(0, "127.0.0.1", () => {
  if (Number(rtt) === 0) return console.log(server.address().port);
  const slow = net.createServer({ noDelay: true }, (socket) => {
    const inside = net.connect({ port: server.address().port, host: "127.0.0.1", noDelay: true });
    line(socket, inside, Number(rtt) * 1.5);
    line(inside, socket, 0);
  });
  slow.listen(0, "127.0.0.1", () => console.log(slow.address().port));
});

process.on("SIGTERM", () => {
  console.log(`${requests} ${connections}`);
  process.exit(0);
});
