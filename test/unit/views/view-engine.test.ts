import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createViewEngine, defaultViewContext, type ViewEngine } from '../../../src/views';

const project = join(__dirname, '..', '..', '..');
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'views-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(files: Record<string, string>): void {
  for (const [name, source] of Object.entries(files)) {
    const path = join(folder, `${name}.hbs`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, source);
  }
}

function engineOf(files: Record<string, string>, cache = true): Promise<ViewEngine> {
  write(files);
  return createViewEngine({
    viewsFolder: folder,
    publicFolder: join(project, 'public'),
    localesFolder: join(project, 'locales'),
    cache,
    brandName: 'Brand',
  });
}

const context = defaultViewContext();

test('a view is put into its layout, and that into its own', async () => {
  const engine = await engineOf({
    'layouts/outer': '<title>{{@sections.title}} · {{@view.brandName}}</title>{{@body}}',
    'layouts/inner': '{{!< outer}}\n<main>{{@body}}</main>',
    'pages/one': '{{!< inner}}\n{{#section "title"}}One & {{name}}{{/section}}<p>{{name}}</p>',
  });
  expect(engine.render('pages/one', { name: '<b>' }, context)).toBe(
    '<title>One & &lt;b&gt; · Brand</title><main><p>&lt;b&gt;</p></main>',
  );
});

test('a fragment comes without its layouts', async () => {
  const engine = await engineOf({ 'layouts/outer': '[{{@body}}]', 'pages/one': '{{!< outer}}\n<p>1</p>' });
  expect(engine.render('pages/one', {}, { ...context, fragment: true })).toBe('<p>1</p>');
});

test('sections of one rendering do not reach the next', async () => {
  const engine = await engineOf({
    'layouts/outer': '({{@sections.title}}){{@body}}',
    'pages/titled': '{{!< outer}}\n{{#section "title"}}T{{/section}}a',
    'pages/untitled': '{{!< outer}}\nb',
  });
  expect(engine.render('pages/titled', {}, context)).toBe('(T)a');
  expect(engine.render('pages/untitled', {}, context)).toBe('()b');
});

test('a partial keeps the lines of what it prints', async () => {
  const engine = await engineOf({
    'partials/code': '<pre>{{text}}</pre>',
    'pages/one': '<div>\n    {{> code this}}\n</div>',
  });
  expect(engine.render('pages/one', { text: 'a\nb' }, context)).toContain('<pre>a\nb</pre>');
});

test('a template sees nothing that an object inherits', async () => {
  const complaint = jest.spyOn(console, 'error').mockImplementation(() => undefined);
  class Account {
    get secret(): string {
      return 'hidden';
    }
  }
  const engine = await engineOf({ 'pages/one': '[{{account.secret}}{{account.constructor.name}}]' });
  expect(engine.render('pages/one', { account: new Account() }, context)).toBe('[]');
  complaint.mockRestore();
});

test('a misspelt helper, view or asset is an error and not a gap', async () => {
  const engine = await engineOf({ 'pages/helper': '{{mony "1"}}', 'pages/asset': '{{asset "absent.css"}}' });
  expect(() => engine.render('pages/helper', {}, context)).toThrow(/unknown helper mony/);
  expect(() => engine.render('pages/asset', {}, context)).toThrow('There is no asset named "absent.css"');
  expect(() => engine.render('pages/absent', {}, context)).toThrow('There is no view named "pages/absent"');
});

test.each([
  [false, 'new'],
  [true, 'old'],
])('with cache %s a changed template gives the %s text', async (cache, expected) => {
  const engine = await engineOf({ 'pages/one': 'old' }, cache);
  expect(engine.render('pages/one', {}, context)).toBe('old');
  write({ 'pages/one': 'new' });
  expect(engine.render('pages/one', {}, context)).toBe(expected);
});

describe('as the engine of Express', () => {
  type Render = (path: string, options: object, done: (error: unknown, html?: string) => void) => void;

  async function attached(
    files: Record<string, string>,
  ): Promise<{ render: Render; settings: Map<string, unknown> }> {
    const engine = await engineOf(files);
    const settings = new Map<string, unknown>();
    let render: Render | undefined;
    engine.attach({
      engine: (_extension, given) => (render = given),
      set: (name, value) => settings.set(name, value),
    });
    if (!render) throw new Error('the engine was not registered');
    return { render, settings };
  }

  test('it renders in the context of the response', async () => {
    const { render, settings } = await attached({ 'pages/one': '{{t "action.copy"}} {{name}} {{settings}}' });
    const done = jest.fn();
    const viewContext = defaultViewContext({ locale: 'de' });
    render(join(folder, 'pages/one.hbs'), { name: 'n', settings: 'private', viewContext }, done);
    expect(done).toHaveBeenCalledWith(null, 'Kopieren n ');
    expect(settings.get('views')).toBe(folder);
  });

  test('a failure reaches Express, and only once', async () => {
    const { render } = await attached({ 'pages/one': '{{asset "absent.css"}}' });
    const done = jest.fn();
    render(join(folder, 'pages/one.hbs'), {}, done);
    expect(done).toHaveBeenCalledTimes(1);
    expect(done).toHaveBeenCalledWith(expect.any(Error));
  });
});
