// AMP mails to judge: a valid one, and what becomes of it with one thing changed. Most are wrong; those that are not must stay quiet.

const SKELETON = {
    doctype: '<!doctype html>',
    html: '<html ⚡4email data-css-strict>',
    charset: '<meta charset="utf-8">',
    runtime: '<script async src="https://cdn.ampproject.org/v0.js"></script>',
    extensions: '',
    boilerplate: '<style amp4email-boilerplate>body{visibility:hidden}</style>',
    custom: '',
    body: '<p>Hello</p>',
};

const EXTENSIONS = [
    'amp-accordion', 'amp-anim', 'amp-autocomplete', 'amp-bind', 'amp-carousel', 'amp-date-display', 'amp-fit-text', 'amp-form',
    'amp-image-lightbox', 'amp-lightbox', 'amp-list', 'amp-selector', 'amp-sidebar', 'amp-timeago', 'amp-ad', 'amp-analytics',
    'amp-animation', 'amp-audio', 'amp-base-carousel', 'amp-date-picker', 'amp-font', 'amp-iframe', 'amp-inputmask', 'amp-instagram',
    'amp-lightbox-gallery', 'amp-position-observer', 'amp-script', 'amp-social-share', 'amp-video', 'amp-youtube',
];
const script = (name, version = '0.1', kind = 'custom-element') =>
    `<script async ${kind}="${name}" src="https://cdn.ampproject.org/v0/${name}-${version}.js"></script>`;
const MUSTACHE = script('amp-mustache', '0.2', 'custom-template');

function amp(changes = {}) {
    const part = { ...SKELETON, ...changes };
    return `${part.doctype}\n${part.html}\n<head>\n${part.charset}\n${part.runtime}\n${part.extensions}\n${part.boilerplate}\n${part.custom}\n</head>\n<body>\n${part.body}\n</body>\n</html>\n`;
}

// Every element that HTML has or had.
const ELEMENTS = (
    'a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote br button canvas caption ' +
    'center cite code col colgroup command content data datalist dd del details dfn dialog dir div dl dt em embed fieldset figcaption figure ' +
    'font footer form frame frameset h1 h2 h3 h4 h5 h6 header hgroup hr i iframe image img input ins isindex kbd keygen label legend li link ' +
    'listing main map mark marquee math menu menuitem meta meter multicol nav nextid nobr noembed noframes noscript object ol optgroup option ' +
    'output p param picture plaintext pre progress q rb rp rt rtc ruby s samp script section select shadow slot small source spacer span strike ' +
    'strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr xmp ' +
    'amp-img amp-layout amp-pixel amp-state amp-embed amp-mustache amp-user-notification o:p v:rect x-custom'
).split(' ');

const ATTRIBUTES = [
    'id="x"', 'id="amp-x"', 'id="i-amphtml-x"', 'class="x"', 'class="i-amphtml-x"', 'title="x"', 'lang="en"', 'dir="rtl"', 'role="button"', 'tabindex="0"',
    'aria-label="x"', 'data-x="1"', 'hidden', 'style="color:red"', 'style="position:fixed"', 'style="color:red !important"',
    `style="${'color:red;'.repeat(120)}"`, 'style=""', 'align="left"', 'width="1"', 'height="1"', 'bgcolor="red"', 'on="tap:x.hide"', 'on="tap:AMP.setState({a:1})"',
    'on="tap:AMP.navigateTo(url=\'x\')"', 'onclick="x()"', 'onx="y"', 'onward="y"', 'on-x="y"', 'on="tap:print"', 'is="x"', 'ref="x"', 'nonce="x"', 'src="https://example.com/x"',
    'href="https://example.com/x"', 'href="http://example.com/x"', 'href="/x"', 'href="x"', 'href="//example.com/x"', 'href="#x"', 'href=""', 'href="mailto:a@example.com"',
    'href="tel:1"', 'href="javascript:x()"', 'href="https://localhost/x"', 'href="https://192.168.0.1/x"', 'href="http://localhost:80/x"', 'href="file:///x"',
    'href="ftp://example.com/x"', 'href="sms:1"', 'href="whatsapp://x"', 'href="data:text/plain,x"', 'href="{{link}}"', 'href="https://example.com/{{x}}"',
    'href=" https://example.com/ "', 'href="HTTPS://EXAMPLE.COM/"', 'href="https:example.com"', 'href="https://"', 'target="_blank"', 'target="_self"', 'rel="nofollow"', 'itemprop="x"', 'amp-fx="x"', 'layout="fixed"',
    '[text]="x"', '[hidden]="x"', '[style]="x"', '[onclick]="x"', 'xml:lang="en"', 'xmlns="x"', 'xmlns:v="x"', 'accesskey="x"', 'contenteditable', 'autofocus', 'draggable="true"', 'inert',
];

const BODIES = {
    'amp-img': '<amp-img src="https://example.com/a.png" width="1" height="1" alt=""></amp-img>',
    'amp-img http': '<amp-img src="http://example.com/a.png" width="1" height="1" alt=""></amp-img>',
    'amp-img relative': '<amp-img src="a.png" width="1" height="1" alt=""></amp-img>',
    'amp-img cid': '<amp-img src="cid:a.png" width="1" height="1" alt=""></amp-img>',
    'amp-img data': '<amp-img src="data:image/png;base64,AA" width="1" height="1" alt=""></amp-img>',
    'amp-img localhost': '<amp-img src="https://localhost/a.png" width="1" height="1" alt=""></amp-img>',
    'amp-img private': '<amp-img src="https://10.0.0.1/a.png" width="1" height="1" alt=""></amp-img>',
    'amp-img without src': '<amp-img width="1" height="1" alt=""></amp-img>',
    'amp-img empty src': '<amp-img src="" width="1" height="1" alt=""></amp-img>',
    'amp-img srcset': '<amp-img srcset="https://example.com/a.png 1x" src="https://example.com/a.png" width="1" height="1" alt=""></amp-img>',
    'amp-img blank src': '<amp-img src=" https://example.com/a.png" width="1" height="1" alt=""></amp-img>',
    'amp-img upper': '<AMP-IMG SRC="HTTPS://example.com/a.png" WIDTH="1" HEIGHT="1" ALT=""></AMP-IMG>',
    'amp-img tag': '<amp-img src="{{picture}}" width="1" height="1" alt=""></amp-img>',
    'amp-img colon': '<amp-img src="https:a.png" width="1" height="1" alt=""></amp-img>',
    'amp-img protocol relative': '<amp-img src="//example.com/a.png" width="1" height="1" alt=""></amp-img>',
    'img in noscript': '<noscript><img src="https://example.com/a.png"></noscript>',
    'img in comment': '<!-- <img src="x"> <iframe> -->',
    'img in a conditional comment': '<!--[if mso]><img src="x"><![endif]-->',
    'img in svg': '<svg><image href="x"></image></svg>',
    'img in amp-img': '<amp-img src="https://example.com/a.png" width="1" height="1" alt=""><noscript><img src="https://example.com/a.png" width="1" height="1"></noscript></amp-img>',
    'svg': '<svg viewBox="0 0 1 1"><path d="M0 0"></path></svg>',
    'svg a': '<svg><a xlink:href="#x"></a></svg>',
    'script json': '<script type="application/json">{}</script>',
    'script ld json': '<script type="application/ld+json">{}</script>',
    'script text plain': '<script type="text/plain">x</script>',
    'script text plain template': '<script type="text/plain" template="amp-mustache">{{x}}</script>',
    'script': '<script>x()</script>',
    'style in body': '<style>a{}</style>',
    'form GET action': '<form method="get" action="https://example.com/" target="_top"><input name="a"></form>',
    'form action-xhr': '<form method="post" action-xhr="https://example.com/"><input type="submit" name="a"></form>',
    'form action-xhr http': '<form method="post" action-xhr="http://example.com/"><input type="submit" name="a"></form>',
    'form action-xhr relative': '<form method="post" action-xhr="/a"><input type="submit" name="a"></form>',
    'form get action-xhr': '<form method="get" action-xhr="https://example.com/"><input name="a"></form>',
    'form xhr tag': '<form method="post" action-xhr="{{where}}"><input name="a"></form>',
    'form file': '<form method="post" action-xhr="https://example.com/"><input type="file" name="a"></form>',
    'form password': '<form method="post" action-xhr="https://example.com/"><input type="password" name="a"></form>',
    'form image': '<form method="post" action-xhr="https://example.com/"><input type="image" src="https://example.com/x" name="a"></form>',
    'form select': '<form method="post" action-xhr="https://example.com/"><select name="b"><option>1</option></select><textarea name="c"></textarea></form>',
    'form submit success': '<form method="post" action-xhr="https://example.com/"><div submit-success><template type="amp-mustache">{{a}}</template></div></form>',
    'template': '<template type="amp-mustache"><p>{{a}}</p></template>',
    'template elsewhere': '<template><p>{{a}}</p></template>',
    'template iframe': '<template type="amp-mustache"><iframe></iframe></template>',
    'template link': '<template type="amp-mustache"><a href="{{url}}">{{a}}</a></template>',
    'template relative link': '<template type="amp-mustache"><a href="/x">{{a}}</a></template>',
    'template amp-img': '<template type="amp-mustache"><amp-img src="{{src}}" width="1" height="1"></amp-img></template>',
    'amp-list': '<amp-list src="https://example.com/a.json" width="1" height="1"><template type="amp-mustache">{{a}}</template></amp-list>',
    'amp-list http': '<amp-list src="http://example.com/a.json" width="1" height="1"><template type="amp-mustache">{{a}}</template></amp-list>',
    'amp-list state': '<amp-list src="amp-state:x" width="1" height="1"><template type="amp-mustache">{{a}}</template></amp-list>',
    'amp-list bound': '<amp-list [src]="x" src="https://example.com/a" width="1" height="1"><template type="amp-mustache">{{a}}</template></amp-list>',
    'amp-list tag': '<amp-list src="https://example.com/a?u={{id}}" width="1" height="1"><template type="amp-mustache">{{a}}</template></amp-list>',
    'amp-state': '<amp-state id="s"><script type="application/json">{"a":1}</script></amp-state>',
    'amp-state src': '<amp-state id="s" src="https://example.com/a.json"></amp-state>',
    'amp-state http': '<amp-state id="s" src="http://example.com/a.json"></amp-state>',
    'amp-anim': '<amp-anim src="https://example.com/a.gif" width="1" height="1"></amp-anim>',
    'amp-anim http': '<amp-anim src="http://example.com/a.gif" width="1" height="1"></amp-anim>',
    'amp-carousel': '<amp-carousel width="1" height="1" layout="responsive" type="slides"><amp-img src="https://example.com/a.png" width="1" height="1"></amp-img></amp-carousel>',
    'amp-accordion': '<amp-accordion><section><h2>a</h2><p>b</p></section></amp-accordion>',
    'amp-fit-text': '<amp-fit-text width="1" height="1">a</amp-fit-text>',
    'amp-lightbox': '<amp-lightbox id="l" layout="nodisplay"><p>a</p></amp-lightbox>',
    'amp-image-lightbox': '<amp-image-lightbox id="l" layout="nodisplay"></amp-image-lightbox>',
    'amp-selector': '<amp-selector><div option="a">a</div></amp-selector>',
    'amp-sidebar': '<amp-sidebar id="s" layout="nodisplay"><p>a</p></amp-sidebar>',
    'amp-timeago': '<amp-timeago width="1" height="1" datetime="2020-01-01T00:00:00Z">then</amp-timeago>',
    'amp-date-display': '<amp-date-display datetime="2020-01-01T00:00:00Z" width="1" height="1"><template type="amp-mustache">{{day}}</template></amp-date-display>',
    'amp-autocomplete': '<form method="post" action-xhr="https://example.com/"><amp-autocomplete filter="substring" items="."><input name="a"><script type="application/json">{"items":["a"]}</script></amp-autocomplete></form>',
    'amp-autocomplete src': '<form method="post" action-xhr="https://example.com/"><amp-autocomplete filter="substring" src="https://example.com/a"><input name="a"></amp-autocomplete></form>',
    'amp-layout': '<amp-layout width="1" height="1">a</amp-layout>',
    'amp-bind text': '<p [text]="a">b</p>',
    'data-amp-bind text': '<p data-amp-bind-text="a">b</p>',
    'text that looks like markup': '<p>a &lt;iframe> &lt;img src="x"></p>',
    'video': '<video src="https://example.com/a.mp4"></video>',
    'base': '<base href="https://example.com/">',
    'title in body': '<title>x</title>',
    'unclosed': '<div><p>a',
    'end tags only': '</div></p></table>',
    'duplicate attribute': '<p class="a" class="b">x</p>',
    'textarea with markup': '<textarea><img src="x"><script></textarea>',
    'long style': `<p style="${'color:red;'.repeat(101)}">x</p>`,
    'style of 1,000 bytes': `<p style="${'color:red;'.repeat(100)}">x</p>`,
    'style of 1,001 bytes': `<p style="${'color:red;'.repeat(100)} ">x</p>`,
    'style of 1,000 signs in 2,000 bytes': `<p style="font-family:'${'é'.repeat(900)}'">x</p>`,
    'many styles': `<p style="${'color:red;'.repeat(50)}">x</p>`.repeat(400),
};

const HEADS = {
    'html amp4email': { html: '<html amp4email data-css-strict>' },
    'html with a variation selector': { html: '<html \u26a1\ufe0f4email data-css-strict>' },
    'html without strict': { html: '<html ⚡4email>' },
    'html with value': { html: '<html ⚡4email="" data-css-strict lang="en">' },
    'html upper': { html: '<HTML AMP4EMAIL DATA-CSS-STRICT>' },
    'html plain': { html: '<html>' },
    'html amp': { html: '<html ⚡>' },
    'html both': { html: '<html ⚡ ⚡4email>' },
    'html transformed': { html: '<html ⚡4email data-css-strict transformed="self;v=1">' },
    'html other attribute': { html: '<html ⚡4email data-css-strict xmlns="http://www.w3.org/1999/xhtml">' },
    'no html': { html: '' },
    'no doctype': { doctype: '' },
    'doctype upper': { doctype: '<!DOCTYPE HTML>' },
    'doctype legacy': { doctype: '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">' },
    'doctype strange': { doctype: '<!doctype html lang=en>' },
    'doctype after a comment': { doctype: '<!-- a -->\n<!doctype html>' },
    'byte order mark': { doctype: '\ufeff<!doctype html>' },
    'no charset': { charset: '' },
    'charset upper': { charset: '<META CHARSET="UTF-8">' },
    'charset latin1': { charset: '<meta charset="iso-8859-1">' },
    'charset with blanks': { charset: '<meta charset=" utf-8 ">' },
    'charset utf8': { charset: '<meta charset="utf8">' },
    'charset by http-equiv': { charset: '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">' },
    'charset xhtml': { charset: '<meta charset="utf-8"/>' },
    'charset twice': { charset: '<meta charset="utf-8"><meta charset="utf-8">' },
    'charset later': { charset: '', custom: '<meta charset="utf-8">' },
    'no runtime': { runtime: '' },
    'runtime not async': { runtime: '<script src="https://cdn.ampproject.org/v0.js"></script>' },
    'runtime twice': { runtime: SKELETON.runtime + SKELETON.runtime },
    'runtime http': { runtime: '<script async src="http://cdn.ampproject.org/v0.js"></script>' },
    'runtime protocol relative': { runtime: '<script async src="//cdn.ampproject.org/v0.js"></script>' },
    'runtime lts': { runtime: '<script async src="https://cdn.ampproject.org/lts/v0.js"></script>' },
    'runtime module': { runtime: '<script async type="module" crossorigin="anonymous" src="https://cdn.ampproject.org/v0.mjs"></script>' },
    'runtime module and nomodule': {
        runtime:
            '<script async type="module" crossorigin="anonymous" src="https://cdn.ampproject.org/v0.mjs"></script><script async nomodule crossorigin="anonymous" src="https://cdn.ampproject.org/v0.js"></script>',
    },
    'runtime lts module and nomodule': {
        runtime:
            '<script async type="module" crossorigin="anonymous" src="https://cdn.ampproject.org/lts/v0.mjs"></script><script async nomodule crossorigin="anonymous" src="https://cdn.ampproject.org/lts/v0.js"></script>',
    },
    'runtime with a type': { runtime: '<script async type="text/javascript" src="https://cdn.ampproject.org/v0.js"></script>' },
    'runtime with blanks': { runtime: '<script async src=" https://cdn.ampproject.org/v0.js "></script>' },
    'runtime at the end': { runtime: '', custom: SKELETON.runtime },
    'runtime in the body': { runtime: '', body: SKELETON.runtime },
    'runtime with nonce': { runtime: '<script async nonce="x" src="https://cdn.ampproject.org/v0.js"></script>' },
    'gmail amp4email runtime': { runtime: '<script async src="https://cdn.ampproject.org/amp4email/v0.js"></script>' },
    'no boilerplate': { boilerplate: '' },
    'boilerplate spaced': { boilerplate: '<style amp4email-boilerplate>\n  body { visibility: hidden }\n</style>' },
    'boilerplate other': { boilerplate: '<style amp4email-boilerplate>body{visibility:visible}</style>' },
    'boilerplate twice': { boilerplate: SKELETON.boilerplate.repeat(2) },
    'boilerplate of pages': { boilerplate: '<style amp-boilerplate>body{}</style>' },
    'boilerplate with a semicolon': { boilerplate: '<style amp4email-boilerplate>body{visibility:hidden;}</style>' },
    'custom': { custom: '<style amp-custom>p{color:red}</style>' },
    'custom twice': { custom: '<style amp-custom>p{color:red}</style><style amp-custom>p{color:red}</style>' },
    'custom with media': { custom: '<style amp-custom media="screen">p{color:red}</style>' },
    'custom of 75,000': { custom: `<style amp-custom>${'p{color:red}'.repeat(6_250)}</style>` },
    'custom of 75,001': { custom: `<style amp-custom>${'p{color:red}'.repeat(6_250)} </style>` },
    'custom of 75,000 and inline styles': { custom: `<style amp-custom>${'p{color:red}'.repeat(6_250)}</style>`, body: '<p style="color:red">x</p>' },
    'custom with other signs': { custom: `<style amp-custom>/*${'é'.repeat(40_000)}*/</style>` },
    'custom with important': { custom: '<style amp-custom>p{color:red !important}</style>' },
    'custom with import': { custom: '<style amp-custom>@import url(x);</style>' },
    'custom with tags': { custom: '<style amp-custom>p{color:{{color}}}</style>' },
    'custom with text that looks like an end': { custom: '<style amp-custom>/* <b> */p{}</style>' },
    'style plain': { custom: '<style>p{color:red}</style>' },
    'style keyframes': { custom: '<style amp-keyframes>@keyframes x{}</style>' },
    'title': { custom: '<title>x</title>' },
    'viewport': { custom: '<meta name="viewport" content="width=device-width">' },
    'meta name': { custom: '<meta name="x-apple-disable-message-reformatting">' },
    'meta refresh': { custom: '<meta http-equiv="refresh" content="0">' },
    'meta content type': { custom: '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">' },
    'link': { custom: '<link rel="stylesheet" href="https://fonts.googleapis.com/css?family=x">' },
    'link canonical': { custom: '<link rel="canonical" href="https://example.com/">' },
    'link preload': { custom: '<link rel="preload" as="script" href="https://cdn.ampproject.org/v0.js">' },
    'base in head': { custom: '<base href="https://example.com/">' },
    'base target': { custom: '<base target="_blank">' },
    'noscript in head': { custom: '<noscript><style amp-boilerplate>body{}</style></noscript>' },
    'script json in head': { custom: '<script type="application/ld+json">{}</script>' },
    'script meta json': { custom: '<script type="application/json" amp-onerror>{}</script>' },
    'amp-onerror': { custom: `<script amp-onerror>document.querySelector("script[src*='/v0.js']").onerror=function(){document.querySelector('style[amp-boilerplate]').textContent=''}</script>` },
    'comment in head': { custom: '<!--[if mso]><style>x</style><![endif]-->' },
};

/** Every document, by name. */
export function* documents() {
    yield ['skeleton', amp()];
    yield ['skeleton in one line', amp().replaceAll('\n', '')];
    yield ['skeleton without head and body tags', amp().replace(/<\/?(head|body)>/g, '')];
    yield ['skeleton without a head tag', amp().replace(/<\/?head>/g, '')];
    yield ['skeleton without a body tag', amp().replace(/<\/?body>/g, '')];
    yield ['skeleton in upper case', amp().replace(/<[^>!]+>/g, (tag) => tag.toUpperCase())];
    yield ['text after the end', `${amp()}text`];
    yield ['comment after the end', `${amp()}<!-- c -->`];
    yield ['comment before the html', amp({ html: `<!-- c -->${SKELETON.html}` })];
    yield ['empty', ''];
    yield ['a sentence', 'Hello'];
    for (const bytes of [199_900, 200_000, 200_001, 210_000, 102_400, 102_401]) {
        const text = amp({ body: '<p>@</p>' });
        yield [`${bytes} bytes`, text.replace('@', 'x'.repeat(bytes - Buffer.byteLength(text) + 1))];
        yield [`${bytes} signs`, text.replace('@', 'é'.repeat(bytes - text.length + 1))];
    }
    for (const [name, change] of Object.entries(HEADS)) yield [`head: ${name}`, amp(change)];
    for (const element of ELEMENTS) {
        yield [`<${element}>`, amp({ body: `<${element}></${element}>` })];
        yield [`<${element}> in the head`, amp({ custom: `<${element}></${element}>` })];
        yield [`<${element}> in a template`, amp({ extensions: MUSTACHE, body: `<template type="amp-mustache"><${element}></${element}></template>` })];
    }
    for (const element of ['p', 'a', 'table', 'body', 'amp-img', 'svg']) {
        for (const attribute of ATTRIBUTES) {
            const extra = element === 'amp-img' ? ' src="https://example.com/x.png" width="1" height="1"' : '';
            const text = element === 'body' ? amp().replace('<body>', `<body ${attribute}>`) : amp({ body: `<${element} ${attribute}${extra}></${element}>` });
            yield [`<${element} ${attribute.slice(0, 60)}>`, text];
            yield [`<${element} ${attribute.slice(0, 60)}> with amp-bind`, text.replace('</script>', `</script>${script('amp-bind')}`)];
        }
    }
    const all = EXTENSIONS.slice(0, 14).map((name) => script(name, name === 'amp-carousel' ? '0.2' : '0.1')).join('') + MUSTACHE;
    for (const [name, body] of Object.entries(BODIES)) {
        yield [`body: ${name}`, amp({ body })];
        yield [`body: ${name}, with every script`, amp({ body, extensions: all })];
        const used = EXTENSIONS.filter((extension) => new RegExp(`<${extension}\\b`).test(body));
        if (/<form/.test(body)) used.push('amp-form');
        if (/<amp-state|\[text\]|bind/.test(body)) used.push('amp-bind');
        const scripts = used.map((extension) => script(extension)).join('') + (/<template/.test(body) ? MUSTACHE : '');
        yield [`body: ${name}, with its scripts`, amp({ body, extensions: scripts })];
    }
    for (const name of EXTENSIONS) {
        for (const version of ['0.1', '0.2', '1.0', 'latest']) {
            yield [`script ${name}-${version}`, amp({ extensions: script(name, version) })];
            yield [`script ${name}-${version} and its element`, amp({ extensions: script(name, version), body: `<${name} width="1" height="1"></${name}>` })];
        }
        yield [`script ${name} twice`, amp({ extensions: script(name).repeat(2) })];
        yield [`script ${name} after the element`, amp({ body: `<${name} width="1" height="1"></${name}>${script(name)}` })];
    }
    for (const kind of ['custom-element', 'custom-template']) {
        for (const version of ['0.1', '0.2']) yield [`mustache as ${kind} ${version}`, amp({ extensions: script('amp-mustache', version, kind), body: BODIES.template })];
    }
    yield ['script with an unknown name', amp({ extensions: script('amp-nothing') })];
    yield ['script by module', amp({ extensions: '<script async custom-element="amp-form" type="module" crossorigin="anonymous" src="https://cdn.ampproject.org/v0/amp-form-0.1.mjs"></script>' })];
    yield ['script from elsewhere', amp({ extensions: '<script async custom-element="amp-form" src="https://example.com/amp-form-0.1.js"></script>', body: BODIES['form action-xhr'] })];
    yield ['script upper', amp({ extensions: '<script async custom-element="AMP-FORM" src="https://cdn.ampproject.org/v0/amp-form-0.1.js"></script>', body: BODIES['form action-xhr'] })];
}
