import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { startTestApp } from '../../support/app';
import { builtExtension, type ExtensionFolder } from '../../support/extension-folder';
import { makeScratchFolder } from '../../support/scratch';

const scratch = makeScratchFolder('switchboard-refused-pages-');
let built: ExtensionFolder;
beforeAll(() => {
  built = builtExtension('test/fixtures/extensions/desk');
});
afterAll(() => {
  built.remove();
  rmSync(scratch, { recursive: true, force: true });
});

let written = 0;

/** The extension with pages, some of whose files are others. A module is loaded once a process: it has another folder. */
function deskWith(change: (folder: string) => void): string {
  const folder = join(scratch, `e${(written += 1)}`);
  cpSync(built.path, folder, { recursive: true });
  change(folder);
  return folder;
}

const refusalOf = async (folder: string): Promise<string> => {
  const app = await startTestApp({ environment: { EXTENSIONS: folder } }).catch((error: unknown) => error);
  if (app instanceof Error) return app.message;
  await (app as Awaited<ReturnType<typeof startTestApp>>).close();
  return 'it started';
};

const edited = (file: string, from: string, to: string) => (folder: string) => {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
  writeFileSync(path, text.replace(from, to));
};

/** A module with one part that differs, in plain JavaScript. */
const moduleWith =
  (more: string, decorated = '') =>
  (folder: string) => {
    writeFileSync(
      join(folder, 'dist', 'index.js'),
      `const nest = require('@switchboard/extension/nest');
     class Odd { one() { return {}; } }
     class OddModule {}
     let controllers = [], providers = [], imports = [];
     const at = (decorator) => decorator(Odd.prototype, 'one', Object.getOwnPropertyDescriptor(Odd.prototype, 'one'));
     ${more}
     nest.Controller('x/odd')(Odd);
     ${decorated === '' ? 'nest.Module({ controllers, providers, imports })(OddModule);' : decorated}
     exports.default = { id: 'odd', version: '1.0.0', host: '^1', setup: () => ({ module: OddModule }) };`,
    );
  };

const ownNest = JSON.stringify(resolve('node_modules/@nestjs/common'));

/* "A page of an extension may print `{{{…}}}`": "`{{{` and `{{&` are refused at load". */
describe('a template that prints a value without escaping refuses the start', () => {
  test.each([
    ['{{{note.title}}}', 'note.title'],
    ['{{&note.title}}', 'note.title'],
    ['{{#if note}}\n{{{t "heading"}}}{{/if}}', 't'],
  ])('%s', async (text, name) => {
    const folder = deskWith(edited('views/note.hbs', '{{#section', `${text}\n{{#section`));
    expect(await refusalOf(folder)).toBe(
      `The extension desk cannot be used: its template note prints ${name} without escaping: ` +
        'write it with two braces',
    );
  });
});

describe('the start is refused, with the name of the extension,', () => {
  test.each([
    [
      'for a route elsewhere',
      edited('dist/desk.js', "'x/desk'", "'dashboard/desk'"),
      'desk',
      'is at /dashboard/desk',
    ],
    ['for a route of another one', edited('dist/desk.js', "'x/desk'", "'x/desks'"), 'desk', 'is at /x/desks'],
    [
      'for a handler without access',
      edited('dist/desk.js', "'notes', _nest.Access.session()", "'notes', undefined"),
      undefined,
      'does not say who may call it',
    ],
    [
      'for a handler of no kind',
      moduleWith(`at(require(${ownNest}).Get('one')); at(nest.Access.session()); controllers = [Odd];`),
      'odd',
      'Odd.one is none of Page, Data, Action, Csv and Redirects',
    ],
    [
      'for a guard of every route',
      moduleWith(
        `class Open { canActivate() { return true } }; providers = [{ provide: 'APP_GUARD', useClass: Open }];`,
      ),
      'odd',
      'it provides APP_GUARD',
    ],
    ['for middleware', moduleWith('OddModule.prototype.configure = () => {};'), 'odd', 'has configure()'],
    [
      'for a global module',
      moduleWith(`class Inner {}; nest.Module({})(Inner); imports = [{ module: Inner, global: true }];`),
      'odd',
      'its module Inner is global',
    ],
    [
      'for a module of its own copy of Nest',
      moduleWith('', `require(${ownNest}).Module({ controllers })(OddModule);`),
      'odd',
      'OddModule was decorated by another copy of Nest',
    ],
    [
      'for a provider of its own copy of Nest',
      moduleWith(`class Own {}; require(${ownNest}).Injectable()(Own); providers = [Own];`),
      'odd',
      'Own was decorated by another copy of Nest',
    ],
    [
      'for a view that is missing',
      (folder: string) => rmSync(join(folder, 'views/note.hbs')),
      'desk',
      'the view note',
    ],
    [
      'for a folder that is missing',
      (folder: string) => rmSync(join(folder, 'views'), { recursive: true }),
      'desk',
      'folder of views',
    ],
    [
      'for a folder elsewhere',
      edited('dist/index.js', "'./messages'", "'..'"),
      'desk',
      'its folder of messages lies outside of it',
    ],
    [
      'for a helper that there is not',
      edited('views/note.hbs', 'note.title}}{{/section', 'shout note.title}}{{/section'),
      'desk',
      'its template note does not compile',
    ],
    [
      'for a layout that there is not',
      edited('views/note.hbs', 'dashboard', 'poster'),
      'desk',
      'the layout poster',
    ],
    [
      'for a partial that there is not',
      edited('views/note.hbs', '#> page-head', '#> page-heads'),
      'desk',
      'its template note',
    ],
    [
      'for a language that is missing',
      (folder: string) => rmSync(join(folder, 'messages/it.json')),
      'desk',
      'no messages in it',
    ],
    [
      'for a key that one language lacks',
      edited('messages/fr.json', '"greeting"', '"greetings"'),
      'desk',
      'messages in en lack the key greetings',
    ],
    [
      'for a key that a template uses',
      edited('views/notes.hbs', '(t "add")', '(t "adds")'),
      'desk',
      'uses the key adds',
    ],
    [
      'for a text that is none',
      edited('messages/de.json', '"Titel"', '7'),
      'desk',
      'messages in de have no text at title',
    ],
    [
      'for messages that are no JSON',
      (folder: string) => writeFileSync(join(folder, 'messages/es.json'), '{'),
      'desk',
      'messages in es are no JSON',
    ],
    [
      'for an entry without a text',
      edited('dist/index.js', "name: 'notes'", "name: 'papers'"),
      'desk',
      'lack the key navigation.papers',
    ],
    [
      'for an audited change without a text',
      edited('dist/desk.js', "audit: 'noted'", "audit: 'written'"),
      'desk',
      'lack the key activity.written',
    ],
    [
      'for an icon that there is not',
      edited('dist/index.js', "icon: 'log'", "icon: 'rocket'"),
      'desk',
      'has the icon rocket',
    ],
    [
      'for an entry that leads elsewhere',
      edited('dist/index.js', "href: '/x/desk/office'", "href: '/dashboard'"),
      'desk',
      'leads to /dashboard',
    ],
    [
      'for a role that there is not',
      edited('dist/index.js', "minimum: 'org_admin'", "minimum: 'boss'"),
      'desk',
      'has the minimum boss',
    ],
    [
      'for a group that there is not',
      edited('dist/index.js', "group: 'administration'", "group: 'top'"),
      'desk',
      'has the group top',
    ],
  ] as const)('%s', async (_what, change, id, expected) => {
    const folder = deskWith(change);
    const message = await refusalOf(folder);
    expect(message).toContain(`The extension ${id ?? folder} cannot be used`);
    expect(message).toContain(expected);
  });
});

test('outside of the host its parts say where they belong, once one is used', () => {
  const found = Reflect.get(globalThis, Symbol.for('switchboard.extension.host')) as unknown;
  Reflect.deleteProperty(globalThis, Symbol.for('switchboard.extension.host'));
  try {
    // As another copy, which nothing has loaded before.
    const outside = deskWith(() => undefined);
    const nest = createRequire(join(outside, 'dist/desk.js'))('@switchboard/extension/nest') as {
      Module: (parts: object) => void;
      NotFoundException: new () => Error;
    };
    expect(() => nest.Module({})).toThrow(
      'Module of @switchboard/extension/nest belongs to a running Switchboard',
    );
    expect(() => new nest.NotFoundException()).toThrow('NotFoundException of @switchboard/extension/nest');
  } finally {
    Reflect.set(globalThis, Symbol.for('switchboard.extension.host'), found);
  }
});
