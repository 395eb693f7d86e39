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
import { type CliCommand, type CliContext, NoInstallationError, UsageError } from './command';
import { configCheck } from './config-check';
import { databaseMove } from './database-move';
import { demoSeed } from './demo';
import { doctor } from './doctor';
import { extensionCheck } from './extensions/extension-check';
import { extensionNew } from './extensions/extension-new';
import { extensionCommands, isExtensionCommandName } from './extensions/extension-commands';
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

/** The name of a command is one or two words. */
export const commands: Readonly<Record<string, CliCommand>> = {
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

export async function runCommand(argv: string[]): Promise<void> {
  process.exitCode = await executeCommand(argv, terminal);
  // Anything that an extension left running, such as a timer, must not keep the process alive.
  if (find(argv) === null) process.stdout.write('', () => process.exit());
}

/** Returns the exit code; every failure is reported as a sentence, never as an exception. */
export async function executeCommand(argv: string[], context: CliContext): Promise<number> {
  try {
    const invocation = find(argv) ?? (await findExtensionCommand(argv, context));
    return invocation === null
      ? await reportUnknownCommand(argv, context)
      : await execute(invocation, context);
  } catch (error) {
    return reportFailure(error, context);
  }
}

async function execute({ command, rest }: CommandInvocation, context: CliContext): Promise<number> {
  if (rest.includes('--help')) {
    context.write(`${command.usage}\n\n${command.summary}\n`);
    return 0;
  }
  try {
    return await command.run(rest, context);
  } catch (error) {
    const exitCode = reportFailure(error, context);
    if (exitCode === EXIT_USAGE) context.writeStderr(`Usage: ${command.usage}\n`);
    return exitCode;
  }
}

/** Writes to standard error, so that the redirected output of a misspelt command stays empty. */
async function reportUnknownCommand(argv: string[], context: CliContext): Promise<number> {
  const isHelpRequested = argv.length === 0 || argv[0] === '--help';
  const text = await overview(context);
  if (isHelpRequested) context.write(text);
  else context.writeStderr(`There is no command "${argv[0]}".\n\n${text}`);
  return isHelpRequested ? 0 : EXIT_USAGE;
}

function reportFailure(error: unknown, context: CliContext): number {
  context.writeStderr(`${error instanceof Error ? error.message : String(error)}\n`);
  if (isUsageError(error)) return EXIT_USAGE;
  return CONFIGURATION_ERRORS.some((errorType) => error instanceof errorType) ? EXIT_CONFIGURATION : 1;
}

const CONFIGURATION_ERRORS = [NoInstallationError, SettingsError, ExtensionRefused, ExtensionTablesRefused];

interface CommandInvocation {
  readonly command: CliCommand;
  readonly rest: string[];
}

function find(argv: string[]): CommandInvocation | null {
  for (const length of [2, 1]) {
    const command = getCommand(argv.slice(0, length).join(' '));
    if (command !== undefined) return { command, rest: argv.slice(length) };
  }
  return null;
}

const getCommand = (name: string): CliCommand | undefined =>
  Object.hasOwn(commands, name) ? commands[name] : undefined;

const isOwnCommand = (name: string): boolean => getCommand(name) !== undefined;

/** Extensions are loaded only for a name that no built-in command has. */
async function findExtensionCommand(
  [name, ...rest]: string[],
  context: CliContext,
): Promise<CommandInvocation | null> {
  if (!isExtensionCommandName(name)) return null;
  const command = (await extensionCommands(context, isOwnCommand)).get(name);
  return command === undefined ? null : { command, rest };
}

/** Node's `parseArgs` reports misuse by the code of its error. */
const isUsageError = (error: unknown): boolean =>
  error instanceof UsageError || errorCode(error).startsWith('ERR_PARSE_ARGS_');

async function overview(context: CliContext): Promise<string> {
  const lines = [...Object.values(commands), ...(await listExtensionCommands(context))].map(
    ({ usage, summary }) => `  ${usage}\n      ${summary}`,
  );
  return ['Commands:', ...lines, ''].join('\n');
}

/** Built-in commands are listed whatever is wrong with the configuration. */
async function listExtensionCommands(context: CliContext): Promise<CliCommand[]> {
  if (!context.environment['EXTENSIONS']) return [];
  try {
    return [...(await extensionCommands(context, isOwnCommand)).values()];
  } catch (error) {
    context.writeStderr(`Commands of extensions are not listed: ${(error as Error).message}\n`);
    return [];
  }
}
