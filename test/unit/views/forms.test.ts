import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  createViewEngine,
  defaultViewContext,
  type FormsContext,
  type RefusedForm,
} from '../../../src/views';

const project = join(__dirname, '..', '..', '..');
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'views-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const input = '<input id="{{id}}" type="{{type}}" value="{{value}}"{{attributes}}>';
const partials = {
  'layouts/page': '{{#main}}{{@body}}{{/main}}',
  'fragments/refused-form': '[{{text}} {{code}}]',
};

async function renderForm(source: string, forms: Partial<FormsContext>, model: object = {}): Promise<string> {
  for (const [name, text] of Object.entries({ ...partials, 'pages/one': `{{!< page}}\n${source}` })) {
    const path = join(folder, `${name}.hbs`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const engine = await createViewEngine({
    viewsFolder: folder,
    publicFolder: join(project, 'public'),
    localesFolder: join(project, 'locales'),
    cache: true,
    brandName: 'Brand',
  });
  const context = { page: '/here?tab=1', declaredAt: () => null, ...forms };
  const html = engine.render('pages/one', model, { ...defaultViewContext(), forms: context });
  return html.slice('<main id="main" tabindex="-1">'.length, -'</main>'.length);
}

const refusedForm = (posted: RefusedForm['posted'], errors: Record<string, string>): RefusedForm => ({
  path: '/to',
  posted,
  errors: new Map(Object.entries(errors)),
  text: 'No.',
  code: 'c',
});

test('form carries its page and values, which identify it among several forms', async () => {
  const rows = `{{#each rows}}{{#form action="/to?x=1" carries=(object row=this version=2 token="new")}}{{#with (control name="a" id=(join "a" this) value="old")}}${input}{{/with}}{{/form}}{{/each}}`;
  const html = await renderForm(
    rows,
    { refused: refusedForm({ row: '2', version: '1', token: 'kept', a: '"x"' }, { a: 'Bad', b: 'Gone' }) },
    { rows: [1, 2] },
  );
  const [first = '', second = ''] = html.split('</form>');
  const page = '<input type="hidden" name="_page" value="/here?tab&#x3D;1">';
  expect(first).toContain(`<form method="post" action="/to?x&#x3D;1">${page}`);
  expect(first).toContain('name="token" value="new"');
  expect(first).toContain('<input id="a1" type="text" value="old">');
  expect(second).toMatch(/^\[No\. Gone c\]<form/);
  expect(second).toContain('name="token" value="kept"');
  expect(second).toContain('name="version" value="2"');
  expect(second).toContain(
    '<input id="a2" type="text" value="&quot;x&quot;" aria-describedby="a2-error" aria-invalid="true" autofocus>',
  );
});

test('error of no form on the page is displayed at the top', async () => {
  const form = `{{#form action="/to" carries=(object row=1)}}{{#with (control name="a")}}${input}{{/with}}{{/form}}`;
  expect(await renderForm(form, { refused: refusedForm({ row: '7', a: 'x' }, { a: 'Bad' }) })).toMatch(
    /^\[No\. Bad c\]<form .*value="">/,
  );
  expect(await renderForm('body', { notice: { text: 'Odd address.', code: 'd' } })).toBe(
    '[Odd address. d]body',
  );
});

test('controls of the same name are told apart by order, and an unknown option is ignored', async () => {
  const template = `{{#form action="/to"}}{{#each (list "a" "b")}}{{#with (control name="n" id=this value=this)}}${input}{{/with}}{{/each}}{{#with (control name="s" type="select" options=choices empty="none")}}{{#each options}}<option value="{{value}}"{{#if selected}} selected{{/if}}>{{label}}</option>{{/each}}{{/with}}{{/form}}`;
  const choices = { choices: ['x', { value: 'y', label: 'Y', selected: true }] };
  const html = await renderForm(template, { refused: refusedForm({ n: ['1', '2'], s: 'x' }, {}) }, choices);
  expect(html).toContain('<input id="a" type="text" value="1"><input id="b" type="text" value="2">');
  expect(html).toContain(
    '<option value="">none</option><option value="x" selected>x</option><option value="y">Y</option>',
  );
  expect(await renderForm(template, { refused: refusedForm({ s: 'z' }, {}) }, choices)).toContain(
    '<option value="y" selected>',
  );
});

test('form of changed data displays the stored values and reports what was typed', async () => {
  const source = `{{#form action="/to"}}{{#with (control name="a" value="stored")}}${input}{{typed}}{{/with}}{{#with (control name="p" type="password")}}{{typed}}{{/with}}{{/form}}`;
  const staleForm = {
    ...refusedForm({ a: 'mine', p: 'secret' }, {}),
    typed: (value: string) => `You: ${value}`,
  };
  expect(await renderForm(source, { refused: staleForm })).toContain('value="stored">You: mine</form>');
});

test('collapsed section with an error is opened', async () => {
  const source = `{{#fold class="f"}}a{{/fold}}{{#fold}}{{#form action="/to"}}{{#fold}}{{#with (control name="a")}}${input}{{/with}}{{/fold}}{{#fold}}{{#with (control name="b")}}${input}{{/with}}{{/fold}}{{/form}}{{/fold}}`;
  const html = await renderForm(source, { refused: refusedForm({ a: 'typed', b: '' }, {}) });
  expect(html.match(/<details[^>]*>/g)).toEqual([
    '<details class="f">',
    '<details open>',
    '<details open>',
    '<details>',
  ]);
});

test('control takes its limits from the field and keeps those of its model', async () => {
  const declaredFields = new Map([
    ['n', { required: true, type: 'number', min: '1', max: '9' } as const],
    ['t', { maxlength: '5', pattern: '[a-z]+' }],
  ]);
  const source = `{{#form action="/to"}}{{#with (control name="n")}}${input}{{/with}}{{#with (control name="t" required=true)}}${input}{{/with}}{{#with (control name="t" type="textarea")}}{{attributes}}{{/with}}{{#with (control name="t" type="checkbox")}}{{attributes}}{{/with}}{{/form}}`;
  expect(
    await renderForm(source, { declaredAt: (action) => (action === '/to' ? declaredFields : null) }),
  ).toContain(
    '<input id="n" type="number" value="" required min="1" max="9"><input id="t" type="text" value="" required maxlength="5" pattern="[a-z]+"> maxlength="5"</form>',
  );
});
