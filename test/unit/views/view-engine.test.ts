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

function writeViews(files: Record<string, string>): void {
  for (const [name, source] of Object.entries(files)) {
    const path = join(folder, `${name}.hbs`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, source);
  }
}

function engineOf(files: Record<string, string>, cache = true): Promise<ViewEngine> {
  writeViews(files);
  return createViewEngine({
    viewsFolder: folder,
    publicFolder: join(project, 'public'),
    localesFolder: join(project, 'locales'),
    cache,
    brandName: 'Brand',
  });
}

const context = defaultViewContext();

test('view is inserted into its layout, and the layout into its own', async () => {
  const engine = await engineOf({
    'layouts/outer': '<title>{{@sections.title}} · {{@view.brandName}}</title>{{@body}}',
    'layouts/inner': '{{!< outer}}\n<main>{{@body}}</main>',
    'pages/one': '{{!< inner}}\n{{#section "title"}}One & {{name}}{{/section}}<p>{{name}}</p>',
  });
  expect(engine.render('pages/one', { name: '<b>' }, context)).toBe(
    '<title>One & &lt;b&gt; · Brand</title><main><p>&lt;b&gt;</p></main>',
  );
});

test('fragment is rendered without its layouts', async () => {
  const engine = await engineOf({ 'layouts/outer': '[{{@body}}]', 'pages/one': '{{!< outer}}\n<p>1</p>' });
  expect(engine.render('pages/one', {}, { ...context, fragment: true })).toBe('<p>1</p>');
});

test('sections of a rendering do not leak into the next', async () => {
  const engine = await engineOf({
    'layouts/outer': '({{@sections.title}}){{@body}}',
    'pages/titled': '{{!< outer}}\n{{#section "title"}}T{{/section}}a',
    'pages/untitled': '{{!< outer}}\nb',
  });
  expect(engine.render('pages/titled', {}, context)).toBe('(T)a');
  expect(engine.render('pages/untitled', {}, context)).toBe('()b');
});

test('partial keeps the line breaks of its output', async () => {
  const engine = await engineOf({
    'partials/code': '<pre>{{text}}</pre>',
    'pages/one': '<div>\n    {{> code this}}\n</div>',
  });
  expect(engine.render('pages/one', { text: 'a\nb' }, context)).toContain('<pre>a\nb</pre>');
});

test('template cannot read inherited properties', async () => {
  const consoleError = jest.spyOn(console, 'error').mockImplementation(() => undefined);
  class AccountWithSecret {
    get secret(): string {
      return 'hidden';
    }
  }
  const engine = await engineOf({ 'pages/one': '[{{account.secret}}{{account.constructor.name}}]' });
  expect(engine.render('pages/one', { account: new AccountWithSecret() }, context)).toBe('[]');
  consoleError.mockRestore();
});

test('misspelt helper, view or asset is an error instead of empty output', async () => {
  const engine = await engineOf({ 'pages/helper': '{{mony "1"}}', 'pages/asset': '{{asset "absent.css"}}' });
  expect(() => engine.render('pages/helper', {}, context)).toThrow(/unknown helper mony/);
  expect(() => engine.render('pages/asset', {}, context)).toThrow('There is no asset named "absent.css"');
  expect(() => engine.render('pages/absent', {}, context)).toThrow('There is no view named "pages/absent"');
});

test.each([
  [false, 'new'],
  [true, 'old'],
])('changed template with cache %s renders the %s text', async (cache, expected) => {
  const engine = await engineOf({ 'pages/one': 'old' }, cache);
  expect(engine.render('pages/one', {}, context)).toBe('old');
  writeViews({ 'pages/one': 'new' });
  expect(engine.render('pages/one', {}, context)).toBe(expected);
});

describe('Express view engine', () => {
  type RenderFunction = (
    path: string,
    options: object,
    done: (error: unknown, html?: string) => void,
  ) => void;

  async function attachEngine(
    files: Record<string, string>,
  ): Promise<{ render: RenderFunction; settings: Map<string, unknown> }> {
    const engine = await engineOf(files);
    const settings = new Map<string, unknown>();
    let renderView: RenderFunction | undefined;
    engine.attach({
      engine: (_extension, renderFunction) => (renderView = renderFunction),
      set: (name, value) => settings.set(name, value),
    });
    if (!renderView) throw new Error('the engine was not registered');
    return { render: renderView, settings };
  }

  test('renders in the context of the response', async () => {
    const { render, settings } = await attachEngine({
      'pages/one': '{{t "action.copy"}} {{name}} {{settings}}',
    });
    const done = jest.fn();
    const viewContext = defaultViewContext({ locale: 'de' });
    render(join(folder, 'pages/one.hbs'), { name: 'n', settings: 'private', viewContext }, done);
    expect(done).toHaveBeenCalledWith(null, 'Kopieren n ');
    expect(settings.get('views')).toBe(folder);
  });

  test('reports an error to Express exactly once', async () => {
    const { render } = await attachEngine({ 'pages/one': '{{asset "absent.css"}}' });
    const done = jest.fn();
    render(join(folder, 'pages/one.hbs'), {}, done);
    expect(done).toHaveBeenCalledTimes(1);
    expect(done).toHaveBeenCalledWith(expect.any(Error));
  });
});
