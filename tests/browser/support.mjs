// A browser, a sandbox, and a listener that writes down who calls.

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import net from 'node:net';

const require = createRequire(join(process.env.BROWSER_TOOLS, 'package.json'));
const { chromium } = require('playwright-core');
export const axeSource = require.resolve('axe-core/axe.min.js');

/// Chromium without its own calls home. `rules` are host-resolver rules.
export function launch(rules) {
  const args = [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync',
  ];
  if (rules) args.push(`--host-resolver-rules=${rules}`);
  return chromium.launch({ executablePath: '/usr/bin/chromium', args });
}

/// The real binary's sandbox, with a seed.
export async function startSandbox(seed = '') {
  const folder = mkdtempSync(join(tmpdir(), 'letterpress-browser-'));
  const file = join(folder, 'seed.toml');
  writeFileSync(file, seed);
  const child = spawn(process.env.LETTERPRESS, ['sandbox', '--listen', '127.0.0.1:0', '--seed', file, '--api-key', 'browser'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('the sandbox ended before it listened')));
    createInterface(child.stdout).on('line', (line) => {
      if (line.startsWith('listening on ')) resolve(line.slice('listening on '.length));
    });
  });
  return {
    url,
    port: new URL(url).port,
    async post(path, body) {
      const headers = { 'content-type': 'application/json', 'x-api-key': 'browser' };
      const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      return answer.json();
    },
    async create(template) {
      const answer = await this.post('/template/create', { template });
      if (answer.status !== 'Success') throw new Error(JSON.stringify(answer));
      return answer.template.id;
    },
    stop() {
      child.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/// A listener that notes every connection, and what it asks for.
export async function startListener() {
  const calls = [];
  const server = net.createServer((socket) => {
    const call = { asked: '' };
    calls.push(call);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      call.asked = data.toString('latin1').split('\r\n')[0];
      socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/javascript\r\naccess-control-allow-origin: *\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { calls, port: server.address().port, stop: () => server.close() };
}
