import { ExtensionRefused } from '../extensions';
import { errorCode, EXIT_CONFIGURATION, ExtensionTablesRefused, SettingsError } from '../platform';
import { alertChannelAdd, alertChannelList, alertChannelRemove } from './alert-channels';
import { auditBreaks } from './audit-breaks';
import { auditExport } from './audit-export';
import { auditVerify } from './audit-verify';
import { backup } from './backup/backup';
import { backupList } from './backup/backup-list';
import { backupPrune } from './backup/backup-prune';
import { backupVerify } from './backup/backup-verify';
import { restore } from './backup/restore';
import { type Command, type CommandContext, NoInstallation, UsageError } from './command';
import { configCheck } from './config-check';
import { databaseMove } from './database-move';
import { demoSeed } from './demo';
import { doctor } from './doctor';
import { extensionCheck } from './extensions/extension-check';
import { extensionNew } from './extensions/extension-new';
import { extensionCommands, isForeignName } from './extensions/extension-commands';
import { extensionDrop } from './extensions/extension-drop';
import { extensionList } from './extensions/extension-list';
import { applyGateway, exportGateway, planGateway } from './gateway-file';
import { modelsCompare } from './models-compare';
import { journalForget } from './journal-forget';
import { keyAudit } from './key-audit';
import { keyChange, keyRotate } from './key-change';
import { keyCreate } from './key-create';
import { keyList, keyRevoke } from './key-list';
import { moneyRerate } from './money-rerate';
import { moneyVerify } from './money-verify';
import { importLitellm, importModelsDev } from './price-import';
import { processorCheck } from './processor-check';
import { credentialsRewrap } from './credentials-rewrap';
import { quarantineBegin, quarantineRelease, quarantineShow } from './quarantine';
import { rootKeyRotate } from './root-key-rotate';
import { secondFactorReset } from './second-factor-reset';
import { signInLink } from './sign-in-link';
import { tapForget, tapList, tapReplay } from './taps';
import { terminal } from './terminal';

/** A command is called by one word or by two. */
export const commands: Readonly<Record<string, Command>> = {
  plan: planGateway,
  apply: applyGateway,
  export: exportGateway,
  'import litellm-prices': importLitellm,
  'import models-dev': importModelsDev,
  'models compare': modelsCompare,
  'key create': keyCreate,
  'key list': keyList,
  'key change': keyChange,
  'key rotate': keyRotate,
  'key revoke': keyRevoke,
  'key audit': keyAudit,
  'root-key rotate': rootKeyRotate,
  'sign-in-link': signInLink,
  'second-factor reset': secondFactorReset,
  'credentials rewrap': credentialsRewrap,
  doctor,
  'config check': configCheck,
  'audit:export': auditExport,
  'audit:verify': auditVerify,
  'audit:breaks': auditBreaks,
  'money:verify': moneyVerify,
  'journal:forget': journalForget,
  'database:move': databaseMove,
  'quarantine begin': quarantineBegin,
  'quarantine show': quarantineShow,
  'quarantine release': quarantineRelease,
  backup,
  'backup:list': backupList,
  'backup:verify': backupVerify,
  'backup:prune': backupPrune,
  restore,
  'demo:seed': demoSeed,
  'money:rerate': moneyRerate,
  'processor:check': processorCheck,
  'tap:list': tapList,
  'tap:replay': tapReplay,
  'tap:forget': tapForget,
  'alert-channel:list': alertChannelList,
  'alert-channel:add': alertChannelAdd,
  'alert-channel:remove': alertChannelRemove,
  'extension:check': extensionCheck,
  'extension:new': extensionNew,
  'extension:list': extensionList,
  'extension:drop': extensionDrop,
};

const EXIT_USAGE = 64;

export async function runCommand(words: string[]): Promise<void> {
  process.exitCode = await executeCommand(words, terminal);
  // What an extension left running, such as a timer, must not keep the program.
  if (find(words) === null) process.stdout.write('', () => process.exit());
}

/** Returns the exit code; every failure is reported in a sentence, never as an exception. */
export async function executeCommand(words: string[], context: CommandContext): Promise<number> {
  try {
    const found = find(words) ?? (await findForeign(words, context));
    return found === null ? await misspelt(words, context) : await execute(found, context);
  } catch (error) {
    return failed(error, context);
  }
}

async function execute({ command, rest }: Found, context: CommandContext): Promise<number> {
  if (rest.includes('--help')) {
    context.write(`${command.usage}\n\n${command.summary}\n`);
    return 0;
  }
  try {
    return await command.run(rest, context);
  } catch (error) {
    const code = failed(error, context);
    if (code === EXIT_USAGE) context.writeStderr(`Usage: ${command.usage}\n`);
    return code;
  }
}

/** A misspelt command that is led into a file leaves it empty. */
async function misspelt(words: string[], context: CommandContext): Promise<number> {
  const isAsked = words.length === 0 || words[0] === '--help';
  const text = await overview(context);
  if (isAsked) context.write(text);
  else context.writeStderr(`There is no command "${words[0]}".\n\n${text}`);
  return isAsked ? 0 : EXIT_USAGE;
}

function failed(error: unknown, context: CommandContext): number {
  context.writeStderr(`${error instanceof Error ? error.message : String(error)}\n`);
  if (isMisuse(error)) return EXIT_USAGE;
  return misconfigured.some((known) => error instanceof known) ? EXIT_CONFIGURATION : 1;
}

const misconfigured = [NoInstallation, SettingsError, ExtensionRefused, ExtensionTablesRefused];

interface Found {
  readonly command: Command;
  readonly rest: string[];
}

function find(words: string[]): Found | null {
  for (const length of [2, 1]) {
    const command = commandCalled(words.slice(0, length).join(' '));
    if (command !== undefined) return { command, rest: words.slice(length) };
  }
  return null;
}

const commandCalled = (name: string): Command | undefined =>
  Object.hasOwn(commands, name) ? commands[name] : undefined;

const isOurs = (name: string): boolean => commandCalled(name) !== undefined;

/** Extensions are loaded only for a word that none of our own commands has. */
async function findForeign([name, ...rest]: string[], context: CommandContext): Promise<Found | null> {
  if (!isForeignName(name)) return null;
  const command = (await extensionCommands(context, isOurs)).get(name);
  return command === undefined ? null : { command, rest };
}

/** `parseArgs` of Node says so by the code of its error. */
const isMisuse = (error: unknown): boolean =>
  error instanceof UsageError || errorCode(error).startsWith('ERR_PARSE_ARGS_');

async function overview(context: CommandContext): Promise<string> {
  const lines = [...Object.values(commands), ...(await foreignCommands(context))].map(
    ({ usage, summary }) => `  ${usage}\n      ${summary}`,
  );
  return ['Commands:', ...lines, ''].join('\n');
}

/** The list of our own commands has to be there, whatever is wrong with the configuration. */
async function foreignCommands(context: CommandContext): Promise<Command[]> {
  if (!context.environment['EXTENSIONS']) return [];
  try {
    return [...(await extensionCommands(context, isOurs)).values()];
  } catch (error) {
    context.writeStderr(`Commands of extensions are not listed: ${(error as Error).message}\n`);
    return [];
  }
}
