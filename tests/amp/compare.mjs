// Where Google's validator says PASS, no AMP rule may say error. The other way round nothing is promised: our rules are fewer.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { documents } from './documents.mjs';

const tools = process.env.AMP_TOOLS;
const validator = await createRequire(join(tools, 'package.json'))('amphtml-validator').getInstance(join(tools, 'validator_wasm.js'));

/** What the service makes of the tags, roughly: an address where an address is wanted, a word elsewhere. AMP's own templates keep theirs. */
function filled(text) {
    return text
        .split(/(<template[^>]*amp-mustache[^]*?<\/template>)/)
        .map((piece, at) => (at % 2 ? piece : piece.replace(/(=\s*["']?)\{\{[\w-]+\}\}/g, '$1https://example.com/').replace(/\{\{[\w-]+\}\}/g, 'word')))
        .join('');
}

const passes = (text) => [text, filled(text)].some((form) => validator.validateString(form, 'AMP4EMAIL').status === 'PASS');

const all = [...documents()];
for (const folder of ['tests/fixtures', 'examples', ...process.argv.slice(2)]) {
    const own = folder === 'tests/fixtures' || folder === 'examples';
    for (const entry of await readdir(folder, { recursive: true })) {
        if (entry.endsWith(own ? '.amp.html' : '.html')) all.push([join(folder, entry), await readFile(join(folder, entry), 'utf8')]);
    }
}

const work = await mkdtemp(join(tmpdir(), 'letterpress-amp-'));
await writeFile(join(work, 'letterpress.toml'), '');
for (const [at, [, text]] of all.entries()) {
    const folder = join(work, 'templates', `t${at}`);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'manifest.yaml'), `name: t${at}\nsender_email: hello@example.com\n`);
    await writeFile(join(folder, 'body.txt'), 'Hello\n');
    await writeFile(join(folder, 'body.amp.html'), text);
}
const report = await new Promise((resolve, reject) => {
    const run = ['-C', work, 'validate', '--format', 'json'];
    execFile(process.env.LETTERPRESS, run, { maxBuffer: 1 << 30 }, (error, stdout) => (stdout ? resolve(JSON.parse(stdout)) : reject(error)));
});
await rm(work, { recursive: true });

const refused = new Map();
for (const finding of report.findings) {
    if (!finding.rule.startsWith('amp-') || finding.severity !== 'error') continue;
    const at = Number(/^templates\/t(\d+)\//.exec(finding.path)[1]);
    refused.set(at, [...(refused.get(at) ?? []), `${finding.rule}: ${finding.message}`]);
}
const count = { both: 0, neither: 0, google: 0, ours: 0 };
for (const [at, [name, text]] of all.entries()) {
    const pass = passes(text);
    const said = refused.get(at);
    count[pass ? (said ? 'ours' : 'neither') : said ? 'both' : 'google'] += 1;
    if (pass && said) console.log(`FALSE ALARM  ${name}\n    ${said.join('\n    ')}`);
    if (!pass && !said && process.env.MISSED) {
        const errors = validator.validateString(filled(text), 'AMP4EMAIL').errors.filter((error) => error.severity === 'ERROR');
        console.log(`missed  ${name}\n    ${errors.map((error) => error.message).join('\n    ')}`);
    }
}
console.log(`${all.length} documents: ${count.neither} pass for both, ${count.both} refused by both, ${count.google} refused by Google alone, ${count.ours} refused by us alone`);
if (count.ours > 0 || count.neither < 100 || count.both < 100) process.exitCode = 1;
