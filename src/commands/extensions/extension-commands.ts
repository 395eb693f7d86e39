import type { Command as ExtensionCommand } from '#extension';
import { ExtensionRefused, type Extensions, type ExtensionPart, tablesOf } from '../../extensions';
import { thrownMessage } from '../../kernel';
import { Database, Settings } from '../../platform';
import type { CliCommand, CliContext } from '../command';
import { withServices } from '../with-services';
import { giveCommandPorts } from './command-ports';
import { loadCommandExtensions } from './command-extensions';

/** True for a name that can only be a command of an extension, unless the service has a command of that name. */
export const isExtensionCommandName = (name: string | undefined): name is string =>
  name !== undefined && /^[a-z][a-z0-9-]*:[a-z][a-z0-9-]*$/.test(name);

/** Commands of extensions by name. None is allowed to have the name of a built-in command. */
export async function extensionCommands(
  context: Pick<CliContext, 'environment' | 'writeStderr'>,
  isTaken: (name: string) => boolean,
): Promise<ReadonlyMap<string, CliCommand>> {
  const extensions = await loadCommandExtensions(context);
  const commands = new Map<string, CliCommand>();
  for (const owned of extensions.commands) {
    const name = `${owned.extension}:${owned.part.name}`;
    if (isTaken(name))
      throw new ExtensionRefused(owned.extension, `its command ${name} is one of the service's own`);
    commands.set(name, hostCommand(name, owned, extensions));
  }
  return commands;
}

function hostCommand(
  name: string,
  { extension, part }: ExtensionPart<ExtensionCommand>,
  extensions: Extensions,
): CliCommand {
  return {
    usage: part.usage === undefined ? name : `${name} ${part.usage}`,
    summary: `${part.summary} (Of the extension ${extension}.)`,
    run: (words, context) =>
      withServices(
        [Database, Settings],
        context,
        async (database, settings) => {
          const ports = giveCommandPorts(extensions, database, settings);
          try {
            return await runPart(name, part, { words, context });
          } finally {
            await ports.close();
          }
        },
        tablesOf(extensions.all),
      ),
  };
}

async function runPart(
  name: string,
  part: ExtensionCommand,
  { words, context }: { readonly words: string[]; readonly context: CliContext },
): Promise<number> {
  let code: unknown;
  try {
    code = await part.run(words, {
      write: (text) => context.write(String(text)),
      writeError: (text) => context.writeStderr(String(text)),
    });
  } catch (cause) {
    throw new Error(`${name} failed: ${thrownMessage(cause)}`, { cause });
  }
  if (code === undefined) return 0;
  if (Number.isInteger(code) && (code as number) >= 0 && (code as number) <= 255) return code as number;
  throw new Error(`${name} ended with a code that is not from 0 to 255`);
}
