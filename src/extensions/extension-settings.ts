import { readFileSync } from 'node:fs';
import type { StandardSchema } from '#extension';
import { camelCased } from '../kernel';
import { ExtensionRefused } from './extension-refused';

/** `EXT_COST_CENTRES_` for `cost-centres`. */
const variablePrefix = (id: string): string => `EXT_${id.toUpperCase().replaceAll('-', '_')}_`;

/**
 * Collects the variables of an extension, keyed by the rest of the name in camel case. `…_FILE` names a file with the
 * value.
 */
function readVariables(id: string, environment: NodeJS.ProcessEnv): Record<string, string> {
  const prefix = variablePrefix(id);
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith(prefix) || value === undefined || value === '') continue;
    const isFile = name.endsWith('_FILE');
    const suffix = name.slice(prefix.length, isFile ? -'_FILE'.length : undefined);
    variables[camelCased(suffix.toLowerCase())] = isFile
      ? readFileSync(value, 'utf8').replace(/\r?\n$/, '')
      : value;
  }
  return variables;
}

/** Validates the settings of an extension. Error messages never contain values, because these may be secrets. */
export async function readSettings(
  id: string,
  schema: StandardSchema | undefined,
  environment: NodeJS.ProcessEnv,
): Promise<unknown> {
  const variables = readVariables(id, environment);
  if (schema === undefined) return undefined;
  const result = await schema['~standard'].validate(variables);
  if (result.issues === undefined) return result.value;
  const issues = result.issues.map(({ message, path = [] }) => {
    const names = path.map((part) => String(typeof part === 'object' ? part.key : part));
    return `  ${names.join('.') || 'settings'}: ${message}`;
  });
  throw new ExtensionRefused(
    id,
    `its settings have a fault, as read from variables that begin with ${variablePrefix(id)}\n${issues.join('\n')}`,
  );
}
