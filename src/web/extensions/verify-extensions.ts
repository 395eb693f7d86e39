import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NavigationEntry } from '#extension';
import type { ExtensionAction } from '../../audit';
import { ExtensionRefused, type Extensions, type LoadedExtension } from '../../extensions';
import { isRole } from '../../kernel';
import { projectFolder, loadExtensionViews } from '../../views';
import { isBelow, routesOf } from './extension-modules';

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

export const extensionActions = ({ all }: Extensions): ExtensionAction[] =>
  all.flatMap((extension) =>
    [...new Set(routesOf(extension).flatMap(({ audit }) => (audit === undefined ? [] : [audit])))].map(
      (verb): ExtensionAction => `ext.${extension.id}.${verb}`,
    ),
  );

export async function verifyExtensions({ all }: Extensions): Promise<void> {
  for (const extension of all) {
    const routes = routesOf(extension);
    const entries = extension.parts.navigation ?? [];
    verifyNavigation(extension, entries);
    await loadExtensionViews(extension, {
      views: routes.flatMap(({ view = [] }) => view),
      keys: [
        ...routes.flatMap(({ audit }) => (audit === undefined ? [] : `activity.${audit}`)),
        ...entries.map(({ name }) => `navigation.${name}`),
      ],
    });
  }
}

function verifyNavigation({ id }: LoadedExtension, entries: readonly NavigationEntry[]): void {
  if (!Array.isArray(entries)) throw new ExtensionRefused(id, 'its navigation is no list');
  for (const entry of entries as readonly NavigationEntry[]) {
    const problem = findEntryProblem(id, entry);
    if (problem !== null)
      throw new ExtensionRefused(id, `${String(entry?.name)} of its navigation ${problem}`);
  }
}

function findEntryProblem(id: string, entry: NavigationEntry | null): string | null {
  const { name, href, icon, minimum, group } = entry ?? ({} as Partial<NavigationEntry>);
  if (typeof name !== 'string' || !NAME.test(name)) return 'has no name of small letters, digits and hyphens';
  if (typeof href !== 'string' || !isBelow(href, `/x/${id}`))
    return `leads to ${href}, and not below /x/${id}`;
  if (icon !== undefined && !iconNames().has(icon))
    return `has the icon ${icon}; there are ${[...iconNames()].join(', ')}`;
  if (minimum !== undefined && !isRole(minimum))
    return `has the minimum ${String(minimum)}, which is no role`;
  if (group !== undefined && group !== 'own' && group !== 'administration')
    return `has the group ${String(group)}, which is neither own nor administration`;
  return null;
}

let icons: ReadonlySet<string> | undefined;

function iconNames(): ReadonlySet<string> {
  const readSprite = () => readFileSync(join(projectFolder, 'public', 'icons.svg'), 'utf8');
  return (icons ??= new Set(
    [...readSprite().matchAll(/<symbol id="([\w-]+)"/g)].map(([, name = '']) => name),
  ));
}
