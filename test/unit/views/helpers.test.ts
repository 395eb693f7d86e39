import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createViewEngine, defaultViewContext, type ViewContext } from '../../../src/views';

const project = join(__dirname, '..', '..', '..');

async function render(
  source: string,
  model: object = {},
  overrides: Partial<ViewContext> = {},
): Promise<string> {
  const viewsFolder = mkdtempSync(join(tmpdir(), 'helpers-'));
  try {
    writeFileSync(join(viewsFolder, 'one.hbs'), source);
    const engine = await createViewEngine({
      ...{ viewsFolder, publicFolder: join(project, 'public'), localesFolder: join(project, 'locales') },
      ...{ cache: true, brandName: 'Brand' },
    });
    return engine.render('one', model, defaultViewContext(overrides));
  } finally {
    rmSync(viewsFolder, { recursive: true });
  }
}

describe('url helper', () => {
  const currentPage = { path: '/log', query: { model: 'a b', page: '3' } };

  test.each([
    ['{{{url page="4"}}}', '/log?model=a+b&page=4'],
    ['{{{url page=""}}}', '/log?model=a+b'],
    ['{{{url page=absent model=absent}}}', '/log'],
    ['{{{url "/keys" status="active & new"}}}', '/keys?status=active+%26+new'],
    ['{{{url "/keys"}}}', '/keys'],
  ])('%s returns %s', async (source, expected) => {
    expect(await render(source, {}, currentPage)).toBe(expected);
  });

  test('query values cannot break out of the attribute', async () => {
    const html = await render('<a href="{{url page="2"}}">', {}, { path: '/', query: { q: '"><script>' } });
    expect(html).not.toContain('<script>');
    expect(html.match(/"/g)).toHaveLength(2);
  });
});

test('unknown figures are a dash, and zero is zero', async () => {
  const source =
    '{{money a}} {{cost a}} {{number a}} {{percent a}} {{latency a}} {{compact a}} {{time a "full"}} {{number zero}}';
  expect(await render(source, { a: null, zero: 0 })).toBe('– – – – – – – 0');
});

test('large count is abbreviated with the exact value as a tooltip', async () => {
  expect(await render('{{compact n}}', { n: 1_234_567 })).toBe(
    '<data value="1234567" title="1,234,567">1.2M</data>',
  );
  expect(await render('{{compact n}}', { n: 99_999 })).toBe('99,999');
});

test("time is displayed in the reader's zone with a UTC datetime attribute", async () => {
  const html = await render(
    '{{time at "full"}}',
    { at: new Date('2026-11-20T23:30:00Z') },
    { timeZone: 'Europe/Berlin' },
  );
  expect(html).toBe(
    '<time datetime="2026-11-20T23:30:00.000Z" title="20 Nov 2026, 23:30:00 UTC">21 Nov 2026, 00:30:00</time>',
  );
});

test('messages use the plural of their language', async () => {
  const source = '{{t "message.tokens" count=n}}';
  expect(await render(source, { n: 1 })).toBe('1 token');
  expect(await render(source, { n: 1200 })).toBe('1,200 tokens');
  expect(await render(source, { n: 0 }, { locale: 'fr' })).toBe('0 jeton');
});

test('values in a message are escaped', async () => {
  expect(await render('{{t "action.copy-value" value=v}}', { v: '<i>' })).toBe('Copy &lt;i&gt;');
});

test('script data stays inside its attribute', async () => {
  const html = await render("<p data-x='{{json v}}'>", { v: { a: "'><b>" } });
  expect(html).not.toContain('<b>');
});

test('small helpers return their values', async () => {
  expect(await render('{{#if (and 1 (not 0) (eq "a" "a"))}}yes{{/if}}{{or "" "b"}}{{join "c" 1}}')).toBe(
    'yesbc1',
  );
  expect(await render('{{#each (list (object a=1) (object a=2))}}{{a}}{{/each}}')).toBe('12');
});

test('long code can wrap after a separator and is still plain text', async () => {
  expect(await render('{{breakable code}}', { code: 'rate_limit_<b>' })).toBe(
    'rate_<wbr>limit_<wbr>&lt;b&gt;',
  );
  expect(await render('{{breakable code}}', { code: 'Requests/min' })).toBe('Requests/<wbr>min');
  expect(await render('{{breakable code}}', { code: 'ada@acme.example' })).toBe('ada@<wbr>acme.example');
  expect(await render('{{breakable code}}', { code: 'Active' })).toBe('Active');
});
