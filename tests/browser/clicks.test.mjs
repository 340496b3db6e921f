// A person clicks through the sandbox's page.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { axeSource, launch, startSandbox } from './support.mjs';

const SEED = `
[[suppression]]
email = "ann@example.com"
reason = "unsubscribed"
source = "subscriber"
[[suppression]]
email = "reader{n}@example.com"
reason = "complained"
source = "subscriber"
created = "2026-11-01 10:00:00"
count = 130
[[suppression]]
email = "bob@example.com"
reason = "blocked"
source = "system"
`;
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

let sandbox, browser, id;

before(async () => {
  sandbox = await startSandbox(SEED);
  browser = await launch();
  id = await sandbox.create({ name: 'letterpress-placeholder', body: { plaintext: '-' } });
  await sandbox.create({
    id,
    name: 'Welcome',
    subject: 'Welcome to {{company}}',
    sender_email: 'hello@example.com',
    sender_name: 'Example',
    body: {
      html: '<!doctype html><html><body><h1>Welcome, {{first_name}}</h1><img src="cid:logo.png" alt="Logo"><a href="https://example.com/">Start</a></body></html>',
      plaintext: 'Welcome, {{first_name}}',
      amp: '<!doctype html><html ⚡4email></html>',
    },
    headers: { 'X-SVC-Global-Language': 'en' },
    inline_attachments: [{ type: 'image/png', name: 'logo.png', content: PIXEL }],
    attachments: [{ type: 'application/pdf', name: 'terms.pdf', content: 'JVBERi0=' }],
  });
  await sandbox.create({ name: 'Receipt', body: { plaintext: 'Thank you.' } });
  await sandbox.post('/suppression/delete', { email: 'nobody@example.com' });
  await sandbox.post('/email/subscribe', { sender_email: 'a@example.com', sender_name: 'Shop', recipient_email: 'ann@example.com' });
});

after(async () => {
  await browser?.close();
  sandbox?.stop();
});

async function open(path, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(sandbox.url + path);
  return page;
}

test('templates: from the list into every part and an older version', async () => {
  const page = await open('/');
  await page.getByRole('link', { name: 'Templates' }).first().click();
  await page.getByRole('searchbox').fill('welc');
  await page.getByRole('button', { name: 'Search' }).click();
  assert.equal(await page.locator('table.rows tbody tr').count(), 1);
  await page.getByRole('link', { name: 'Welcome' }).click();
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Welcome');

  const frame = page.frameLocator('iframe.mail');
  assert.equal(await frame.getByRole('heading').textContent(), 'Welcome, {{first_name}}');
  assert.match(await frame.getByRole('img').getAttribute('src'), /^data:image\/png;base64,/);

  const parts = page.getByRole('navigation', { name: 'Parts of the template' });
  await parts.getByRole('link', { name: 'Text' }).click();
  assert.equal(await page.locator('pre').textContent(), 'Welcome, {{first_name}}');
  await parts.getByRole('link', { name: 'AMP source' }).click();
  assert.match(await page.locator('pre').textContent(), /⚡4email/);
  await parts.getByRole('link', { name: 'HTML source' }).click();
  assert.match(await page.locator('pre').textContent(), /<h1>Welcome/);
  await parts.getByRole('link', { name: 'JSON' }).click();
  assert.equal(JSON.parse(await page.locator('pre').textContent()).id, id);

  await parts.getByRole('link', { name: 'Files (2)' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'terms.pdf' }).click();
  const chunks = [];
  for await (const chunk of await (await download).createReadStream()) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString(), '%PDF-');

  await parts.getByRole('link', { name: 'History' }).click();
  await page.getByRole('link', { name: 'Version 1' }).click();
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'letterpress-placeholder');
  await page.getByRole('link', { name: 'Show the newest' }).click();
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Welcome');
  await page.getByRole('link', { name: 'request', exact: true }).click();
  assert.match(await page.getByRole('heading', { level: 1 }).textContent(), /POST \/template\/create/);
});

test('suppressions: filters and pages', async () => {
  const page = await open('/page/suppressions');
  const rows = page.locator('table.rows tbody tr');
  assert.equal(await rows.count(), 100);
  await page.getByRole('link', { name: 'Older records' }).click();
  assert.equal(await rows.count(), 32);
  await page.getByLabel('Source').selectOption('system');
  await page.getByRole('button', { name: 'Filter' }).click();
  assert.deepEqual(await rows.locator('td').first().textContent(), 'bob@example.com');
  await page.getByLabel('Reason').selectOption('unsubscribed');
  await page.getByRole('button', { name: 'Filter' }).click();
  assert.equal(await page.getByText('No record matches.').count(), 1);
});

test('requests: only what went wrong, with body and answer', async () => {
  const page = await open('/page/requests');
  await page.getByLabel('only what went wrong').check();
  await page.getByRole('button', { name: 'Filter' }).click();
  assert.equal(await page.locator('table.rows tbody tr').count(), 1);
  await page.getByRole('link', { name: 'POST /suppression/delete' }).click();
  assert.match(await page.getByRole('region', { name: 'Request body' }).textContent(), /nobody@example.com/);
  assert.match(await page.getByRole('region', { name: 'Answer body' }).textContent(), /3003/);
});

test('outbox: the link of a mail restores the subscription', async () => {
  const page = await open('/page/outbox');
  await page.getByRole('link', { name: 'ann@example.com' }).click();
  assert.match(await page.frameLocator('iframe.mail').locator('body').textContent(), /follow this link/);
  await page.getByRole('link', { name: 'Follow the link as the recipient' }).click();
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Subscribed again');
  await page.goto(`${sandbox.url}/page/suppressions?email=ann%40example.com`);
  assert.equal(await page.getByText('No record matches.').count(), 1);
});

test('the keyboard reaches the content first and every link', async () => {
  const page = await open('/page/templates');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.name), 'q');
});

const pages = () => [
  '/', '/page/templates', `/page/templates/${id}`, `/page/templates/${id}?part=text`, `/page/templates/${id}?part=json`,
  `/page/templates/${id}?part=files`, `/page/templates/${id}?part=history`, `/page/templates/${id}?version=1`,
  '/page/suppressions', '/page/suppressions?reason=blocked&source=user', '/page/outbox', '/page/outbox/1',
  '/page/requests', '/page/requests/1', '/page/nothing',
];

test('no page is wider than a phone', async () => {
  const page = await open('/', { viewport: { width: 360, height: 740 } });
  for (const path of pages()) {
    await page.goto(sandbox.url + path);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 360, `${path} is ${width} wide`);
  }
});

for (const colorScheme of ['light', 'dark']) {
  test(`nothing stands in the way of a screen reader (${colorScheme})`, async () => {
    // The page's own policy forbids scripts, also the checker's; only this test sets it aside.
    const page = await open('/', { colorScheme, bypassCSP: true });
    for (const path of pages()) {
      await page.goto(sandbox.url + path);
      await page.addScriptTag({ path: axeSource });
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { iframes: false }));
      assert.deepEqual(violations.map(({ id, nodes }) => `${path}: ${id}: ${nodes.map((node) => node.html)}`), []);
    }
  });
}
