import { readFileSync } from 'node:fs';
import type { StandardSchema } from '#extension';
import { camelCased } from '../kernel';
import { ExtensionRefused } from './extension-refused';

/** `EXT_COST_CENTRES_` for `cost-centres`. */
const variablePrefix = (id: string): string => `EXT_${id.toUpperCase().replaceAll('-', '_')}_`;

/** Every variable of an extension, by the name after its prefix in camel case; `…_FILE` names a file with the value. */
function variablesOf(id: string, environment: NodeJS.ProcessEnv): Record<string, string> {
  const prefix = variablePrefix(id);
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith(prefix) || value === undefined || value === '') continue;
    const isFile = name.endsWith('_FILE');
    const own = name.slice(prefix.length, isFile ? -'_FILE'.length : undefined);
    found[camelCased(own.toLowerCase())] = isFile ? readFileSync(value, 'utf8').replace(/\r?\n$/, '') : value;
  }
  return found;
}

/** Values are never part of a message, as they may be secrets. */
export async function settingsOf(
  id: string,
  schema: StandardSchema | undefined,
  environment: NodeJS.ProcessEnv,
): Promise<unknown> {
  const given = variablesOf(id, environment);
  if (schema === undefined) return undefined;
  const result = await schema['~standard'].validate(given);
  if (result.issues === undefined) return result.value;
  const faults = result.issues.map(({ message, path = [] }) => {
    const names = path.map((part) => String(typeof part === 'object' ? part.key : part));
    return `  ${names.join('.') || 'settings'}: ${message}`;
  });
  throw new ExtensionRefused(
    id,
    `its settings have a fault, as read from variables that begin with ${variablePrefix(id)}\n${faults.join('\n')}`,
  );
}
