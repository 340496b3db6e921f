// A page of another origin, and a host name that was bound anew to this machine, get nothing (safety P16).

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { launch, startSandbox } from './support.mjs';

let sandbox, browser, server, id, other;

before(async () => {
  sandbox = await startSandbox();
  browser = await launch(`MAP evil.test 127.0.0.1`);
  id = await sandbox.create({ name: 'Secret', body: { html: 'secret' } });
  server = http.createServer((_, answer) => answer.setHeader('content-type', 'text/html').end('<!doctype html><title>other</title><div id="place"></div>'));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  other = `http://localhost:${server.address().port}/`;
});

after(async () => {
  await browser?.close();
  server?.close();
  sandbox?.stop();
});

const log = async () => {
  const text = await (await fetch(`${sandbox.url}/page/requests`)).text();
  return [...text.matchAll(/<span class="tag (good|bad)">([^<]*)</g)].map((match) => match[2]);
};

test('a page of another origin reads nothing and changes nothing', async () => {
  const page = await (await browser.newContext()).newPage();
  await page.goto(other);
  const read = await page.evaluate(async ({ url, id }) => {
    const read = [];
    const paths = ['/', '/page/templates', `/page/templates/${id}/frame`, '/openapi.json', '/page/style.css'];
    for (const path of paths) {
      for (const mode of ['cors', 'no-cors']) {
        await fetch(url + path, { mode, credentials: 'include' }).then((answer) => answer.text()).then((text) => text && read.push(`${mode} ${path}: ${text}`)).catch(() => {});
      }
    }
    const body = JSON.stringify({ email: 'a@example.com', reason: 'blocked' });
    const headers = [{}, { 'content-type': 'application/json', 'x-api-key': 'browser' }, { 'content-type': 'text/plain' }];
    for (const head of headers) {
      for (const mode of ['cors', 'no-cors']) {
        await fetch(`${url}/suppression/create`, { method: 'POST', mode, headers: head, body }).then((answer) => answer.text()).then((text) => text && read.push(text)).catch(() => {});
      }
    }
    navigator.sendBeacon(`${url}/suppression/create`, body);
    const element = (name, attributes) => new Promise((resolve) => {
      const made = Object.assign(document.createElement(name), attributes);
      made.onload = () => resolve(`${name} loaded`);
      made.onerror = () => resolve(null);
      document.body.append(made);
    });
    read.push(await element('img', { src: `${url}/page/templates/${id}/frame` }));
    read.push(await element('script', { src: `${url}/openapi.json` }));
    read.push(await element('link', { rel: 'stylesheet', href: `${url}/page/style.css` }));
    await element('iframe', { src: `${url}/page/templates` });
    const framed = document.querySelector('iframe');
    try { read.push(framed.contentDocument?.body?.textContent || null); } catch { /* another origin: good */ }
    return read.filter(Boolean);
  }, { url: sandbox.url, id });
  assert.deepEqual(read, []);
  const frame = page.frames()[1];
  assert.ok(!(await frame.content()).includes('Secret'));

  // A form needs no permission to be sent: the service itself must refuse it.
  await page.goto(other);
  await page.evaluate((url) => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action: `${url}/suppression/create`, enctype: 'text/plain' });
    form.append(Object.assign(document.createElement('input'), { name: '{"email":"a@example.com","reason":"blocked","x":"', value: '"}' }));
    document.body.append(form);
    form.submit();
  }, sandbox.url);
  await page.waitForURL(`${sandbox.url}/suppression/create`);
  assert.match(await page.content(), /9003/);

  const statuses = await log();
  assert.equal(statuses.filter((status) => status.startsWith('200')).length, 1, 'only the template of this test was created');
  assert.ok(statuses.length > 1 && statuses.every((status) => /^(200|403|404)/.test(status)), statuses.join());
});

test('a host name that leads to this machine is not answered', async () => {
  const page = await (await browser.newContext()).newPage();
  for (const path of ['/', '/page/templates', '/openapi.json']) {
    const answer = await page.goto(`http://evil.test:${sandbox.port}${path}`);
    assert.equal(answer.status(), 403);
    assert.ok(!(await page.content()).includes('Secret'));
  }
});
