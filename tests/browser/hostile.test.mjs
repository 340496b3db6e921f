// Hostile HTML on the page: nothing runs, nothing is fetched, nobody is called (safety P17).

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { launch, startListener, startSandbox } from './support.mjs';

let sandbox, listener, id;

/// Everything that we know of that makes a mail call somebody or run something. Every host name leads to the listener.
function hostile() {
  const at = (name) => `http://${name}.evil.test/${name}`;
  return `<!doctype html><html><head>
<link rel="preconnect" href="${at('preconnect')}"><link rel="dns-prefetch" href="${at('dnsprefetch')}">
<LINK rel=stylesheet href="${at('stylesheet')}"><link rel="prefetch" href="${at('prefetch')}"><link rel="icon" href="${at('icon')}">
<link rel="modulepreload" href="${at('modulepreload')}"><link rel="manifest" href="${at('manifest')}">
<meta http-equiv="refresh" content="0;url=${at('refresh')}"><meta http-equiv="x-dns-prefetch-control" content="on">
<base href="${at('base')}/"><title>hostile</title>
<style>@import "${at('import')}"; @font-face { font-family: f; src: url(${at('font')}) } body { background: url(${at('background')}); font-family: f }
#a { list-style-image: url(${at('list')}); cursor: url(${at('cursor')}), auto } #a::before { content: url(${at('content')}) }</style>
<script>document.documentElement.dataset.ran = 'inline'; fetch('${at('fetch')}'); parent.postMessage('ran', '*')</script>
<script src="${at('script')}"></script><script type="module" src="${at('module')}"></script>
<script type="speculationrules">{"prefetch":[{"source":"list","urls":["${at('speculation')}"]}]}</script>
</head><body background="${at('bodybackground')}" onload="document.documentElement.dataset.ran='onload'">
<ul><li id="a">item</li></ul>
<img src="${at('img')}"><img src="relative.png"><img src="x" onerror="document.documentElement.dataset.ran='onerror'">
<img srcset="${at('srcset')} 1x"><picture><source srcset="${at('picture')}"><img alt=""></picture><image src="${at('image')}">
<input type="image" src="${at('input')}"><video src="${at('video')}" poster="${at('poster')}" autoplay></video><audio src="${at('audio')}" autoplay></audio>
<iframe src="${at('iframe')}"></iframe><iframe srcdoc="<script>fetch('${at('srcdoc')}')</script><img src='${at('srcdocimg')}'>"></iframe>
<object data="${at('object')}"></object><embed src="${at('embed')}"><svg onload="document.documentElement.dataset.ran='svg'"><image href="${at('svgimage')}"/><use href="${at('use')}#a"/></svg>
<svg><style><!--</style><link rel=preconnect href="${at('hidden')}">--></svg><noscript><link rel=preconnect href="${at('noscript')}"></noscript>
<div><template shadowrootmode="open"><link rel="stylesheet" href="${at('shadow')}"><img src="${at('shadowimg')}"></template></div>
<form id="form" action="${at('form')}" method="post"><input name="x" autofocus onfocus="this.form.submit()"><button>Send the form</button></form>
<a id="plain" href="${at('plain')}" ping="${at('ping')}">A plain link</a><a id="top" href="${at('top')}" target="_top">A link to the top</a>
<a id="self" href="${at('self')}" target="_self">A link to itself</a><map name="m"><area href="${at('area')}" target=_self shape="rect" coords="0,0,9,9"></map>
<a id="blank" href="${at('blank')}" target="_blank">A link to a window</a><a id="js" href="javascript:document.documentElement.dataset.ran='link'">A script link</a>
<p style="background-image:url(${at('inline')})">text</p><table background="${at('table')}"><tr><td>cell</td></tr></table>
</body></html>`;
}

before(async () => {
  listener = await startListener();
  sandbox = await startSandbox('[[suppression]]\nemail = "ann@example.com"\nreason = "complained"\nsource = "subscriber"\n');
  id = await sandbox.create({
    name: '<script>document.title="ran"</script>"><img src=http://name.evil.test/name>',
    subject: '<img src=http://subject.evil.test/subject onerror=alert(1)>',
    body: { html: hostile(), plaintext: '</pre><script>document.title="ran"</script>', amp: '</code><img src=http://amp.evil.test/amp>' },
    headers: { 'X-A': '<img src=http://header.evil.test/header>' },
    attachments: [{ type: 'text/html', name: 'page.html', content: Buffer.from(hostile()).toString('base64') }],
  });
  await sandbox.post('/email/subscribe', {
    sender_email: 'a@example.com', sender_name: '<img src=http://sender.evil.test/sender>', recipient_email: 'ann@example.com',
  });
  await sandbox.post('/<script>document.title="ran"</script>', {});
});

after(() => {
  listener?.stop();
  sandbox?.stop();
});

/// Runs with a page of a browser of its own, for which every foreign name leads to the listener.
async function inBrowser(act) {
  const browser = await launch(`MAP *.evil.test 127.0.0.1:${listener.port}`);
  listener.calls.length = 0;
  try {
    await act(await browser.newPage());
  } finally {
    await browser.close();
  }
}

/// Opens an address, waits until the browser has nothing left to do, and collects what it did.
async function visit(page, address) {
  const seen = { asked: [], spoken: [] };
  page.on('request', (request) => seen.asked.push(request.url()));
  page.on('dialog', (dialog) => { seen.spoken.push(dialog.message()); dialog.dismiss(); });
  page.on('popup', (popup) => seen.spoken.push(popup.url()));
  await page.goto(address, { waitUntil: 'networkidle' });
  return seen;
}

test('the same HTML without protection does run and call, so that this test can fail', async () => {
  // Without the two things that would lead the page away before it has done the others.
  const bare = hostile().replace('http-equiv="refresh"', '').replace('this.form.submit()', '');
  const server = http.createServer((_, answer) => answer.setHeader('content-type', 'text/html').end(bare));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  await inBrowser(async (page) => {
  await page.goto(`http://127.0.0.1:${server.address().port}/`, { waitUntil: 'commit' });
  await page.waitForFunction(() => document.documentElement.dataset.ran);
  const called = () => new Set(listener.calls.map((call) => call.asked.split(' ')[1]));
  const expected = ['/img', '/stylesheet', '/script', '/iframe', '/inline'];
  const deadline = Date.now() + 20_000;
  while (!expected.every((path) => called().has(path)) && Date.now() < deadline) {
    await page.waitForTimeout(50);
  }
  assert.deepEqual(expected.filter((path) => !called().has(path)), []);
  });
  server.closeAllConnections();
  server.close();
});

test('on the page nothing runs and nobody is called', () => inBrowser(async (page) => {
  const own = new URL(sandbox.url).origin;
  const parts = ['html', 'text', 'amp', 'source', 'json', 'files', 'history'].map((part) => `/page/templates/${id}?part=${part}`);
  for (const path of ['/', '/page/templates', ...parts, `/page/templates/${id}/frame`, '/page/outbox', '/page/outbox/1', '/page/outbox/1?part=text', '/page/requests', '/page/requests/1', '/page/requests/3']) {
    const seen = await visit(page, sandbox.url + path);
    // The browser names requests that a policy then blocks; the listener is the one who knows whether they were made.
    assert.deepEqual(seen.spoken, [], path);
    assert.notEqual(await page.title(), 'ran', path);
    assert.equal(new URL(page.url()).origin, own, path);
    for (const frame of page.frames()) assert.ok([own, 'null'].includes(new URL(frame.url()).origin), `${path}: ${frame.url()}`);
    page.removeAllListeners();
    assert.deepEqual(listener.calls, [], path);
  }
}));

test('no click in the frame leads anywhere', () => inBrowser(async (page) => {
  await visit(page, `${sandbox.url}/page/templates/${id}`);
  const here = page.url();
  const frame = page.frameLocator('iframe.mail');
  assert.equal(await frame.locator('html').getAttribute('data-ran'), null);
  for (const name of ['A script link', 'A link to a window', 'A link to the top', 'A link to itself', 'A plain link']) {
    await page.goto(here, { waitUntil: 'networkidle' });
    await frame.getByText(name, { exact: true }).click();
    await page.waitForLoadState('networkidle');
    assert.equal(page.url(), here, name);
    assert.equal(page.context().pages().length, 1, name);
  }
  await page.goto(here, { waitUntil: 'networkidle' });
  await frame.getByRole('button', { name: 'Send the form' }).click();
  await page.waitForLoadState('networkidle');
  assert.deepEqual(listener.calls, []);
}));

test('a file of a template is only ever downloaded', () => inBrowser(async (page) => {
  const download = page.waitForEvent('download');
  await page.goto(`${sandbox.url}/page/templates/${id}/file/attached/0`).catch(() => {});
  await download;
  assert.equal(page.url(), 'about:blank');
  assert.deepEqual(listener.calls, []);
}));
