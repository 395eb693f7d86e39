import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { startTestApp } from '../../support/app';
import { buildExtension, type ExtensionFolder } from '../../support/extension-folder';
import { makeScratchFolder } from '../../support/scratch';

const scratchFolder = makeScratchFolder('switchboard-refused-pages-');
let builtDesk: ExtensionFolder;
beforeAll(() => {
  builtDesk = buildExtension('test/fixtures/extensions/desk');
});
afterAll(() => {
  builtDesk.remove();
  rmSync(scratchFolder, { recursive: true, force: true });
});

let folderCount = 0;

/** Copies the desk extension to a new folder, because Node caches a module by its path, and changes the copy. */
function copyDesk(change: (folder: string) => void): string {
  const folder = join(scratchFolder, `e${(folderCount += 1)}`);
  cpSync(builtDesk.path, folder, { recursive: true });
  change(folder);
  return folder;
}

const refusalOf = async (folder: string): Promise<string> => {
  const app = await startTestApp({ environment: { EXTENSIONS: folder } }).catch((error: unknown) => error);
  if (app instanceof Error) return app.message;
  await (app as Awaited<ReturnType<typeof startTestApp>>).close();
  return 'it started';
};

const replaceIn = (file: string, from: string, to: string) => (folder: string) => {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
  writeFileSync(path, text.replace(from, to));
};

/** Replaces the desk with a plain JavaScript module that differs in one part. */
const oddModule =
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

const ownNestPath = JSON.stringify(resolve('node_modules/@nestjs/common'));

/* "A page of an extension may print `{{{…}}}`": "`{{{` and `{{&` are refused at load". */
describe('A template that prints an unescaped value prevents the start', () => {
  test.each([
    ['{{{note.title}}}', 'note.title'],
    ['{{&note.title}}', 'note.title'],
    ['{{#if note}}\n{{{t "heading"}}}{{/if}}', 't'],
  ])('%s', async (text, name) => {
    const folder = copyDesk(replaceIn('views/note.hbs', '{{#section', `${text}\n{{#section`));
    expect(await refusalOf(folder)).toBe(
      `The extension desk cannot be used: its template note prints ${name} without escaping: ` +
        'write it with two braces',
    );
  });
});

describe('Refused start that names the extension', () => {
  test.each([
    [
      'for a route elsewhere',
      replaceIn('dist/desk.js', "'x/desk'", "'dashboard/desk'"),
      'desk',
      'is at /dashboard/desk',
    ],
    [
      'for a route of another one',
      replaceIn('dist/desk.js', "'x/desk'", "'x/desks'"),
      'desk',
      'is at /x/desks',
    ],
    [
      'for a handler without access',
      replaceIn('dist/desk.js', "'notes', _nest.Access.session()", "'notes', undefined"),
      undefined,
      'does not say who may call it',
    ],
    [
      'for a handler of no kind',
      oddModule(`at(require(${ownNestPath}).Get('one')); at(nest.Access.session()); controllers = [Odd];`),
      'odd',
      'Odd.one is none of Page, Data, Action, Csv and Redirects',
    ],
    [
      'for a guard of every route',
      oddModule(
        `class Open { canActivate() { return true } }; providers = [{ provide: 'APP_GUARD', useClass: Open }];`,
      ),
      'odd',
      'it provides APP_GUARD',
    ],
    ['for middleware', oddModule('OddModule.prototype.configure = () => {};'), 'odd', 'has configure()'],
    [
      'for a global module',
      oddModule(`class Inner {}; nest.Module({})(Inner); imports = [{ module: Inner, global: true }];`),
      'odd',
      'its module Inner is global',
    ],
    [
      'for a module of its own copy of Nest',
      oddModule('', `require(${ownNestPath}).Module({ controllers })(OddModule);`),
      'odd',
      'OddModule was decorated by another copy of Nest',
    ],
    [
      'for a provider of its own copy of Nest',
      oddModule(`class Own {}; require(${ownNestPath}).Injectable()(Own); providers = [Own];`),
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
      replaceIn('dist/index.js', "'./messages'", "'..'"),
      'desk',
      'its folder of messages lies outside of it',
    ],
    [
      'for a helper that there is not',
      replaceIn('views/note.hbs', 'note.title}}{{/section', 'shout note.title}}{{/section'),
      'desk',
      'its template note does not compile',
    ],
    [
      'for a layout that there is not',
      replaceIn('views/note.hbs', 'dashboard', 'poster'),
      'desk',
      'the layout poster',
    ],
    [
      'for a partial that there is not',
      replaceIn('views/note.hbs', '#> page-head', '#> page-heads'),
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
      replaceIn('messages/fr.json', '"greeting"', '"greetings"'),
      'desk',
      'messages in en lack the key greetings',
    ],
    [
      'for a key that a template uses',
      replaceIn('views/notes.hbs', '(t "add")', '(t "adds")'),
      'desk',
      'uses the key adds',
    ],
    [
      'for a text that is none',
      replaceIn('messages/de.json', '"Titel"', '7'),
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
      replaceIn('dist/index.js', "name: 'notes'", "name: 'papers'"),
      'desk',
      'lack the key navigation.papers',
    ],
    [
      'for an audited change without a text',
      replaceIn('dist/desk.js', "audit: 'noted'", "audit: 'written'"),
      'desk',
      'lack the key activity.written',
    ],
    [
      'for an icon that there is not',
      replaceIn('dist/index.js', "icon: 'log'", "icon: 'rocket'"),
      'desk',
      'has the icon rocket',
    ],
    [
      'for an entry that leads elsewhere',
      replaceIn('dist/index.js', "href: '/x/desk/office'", "href: '/dashboard'"),
      'desk',
      'leads to /dashboard',
    ],
    [
      'for a role that there is not',
      replaceIn('dist/index.js', "minimum: 'org_admin'", "minimum: 'boss'"),
      'desk',
      'has the minimum boss',
    ],
    [
      'for a group that there is not',
      replaceIn('dist/index.js', "group: 'administration'", "group: 'top'"),
      'desk',
      'has the group top',
    ],
  ] as const)('%s', async (_what, change, id, expected) => {
    const folder = copyDesk(change);
    const message = await refusalOf(folder);
    expect(message).toContain(`The extension ${id ?? folder} cannot be used`);
    expect(message).toContain(expected);
  });
});

test('the Nest parts of the contract throw an error that explains their use outside the host', () => {
  const extensionHost = Reflect.get(globalThis, Symbol.for('switchboard.extension.host')) as unknown;
  Reflect.deleteProperty(globalThis, Symbol.for('switchboard.extension.host'));
  try {
    // Loads another copy of the module, which no test has loaded before.
    const unloadedDesk = copyDesk(() => undefined);
    const nest = createRequire(join(unloadedDesk, 'dist/desk.js'))('@switchboard/extension/nest') as {
      Module: (parts: object) => void;
      NotFoundException: new () => Error;
    };
    expect(() => nest.Module({})).toThrow(
      'Module of @switchboard/extension/nest belongs to a running Switchboard',
    );
    expect(() => new nest.NotFoundException()).toThrow('NotFoundException of @switchboard/extension/nest');
  } finally {
    Reflect.set(globalThis, Symbol.for('switchboard.extension.host'), extensionHost);
  }
});
