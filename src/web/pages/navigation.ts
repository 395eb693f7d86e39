import type { LoadedExtension } from '../../extensions';
import { atLeast, type UserRole } from '../../kernel';
import type { NavigationGroup, Translate } from '../../views';

interface NavigationPage {
  /** Key of the text. */
  readonly label: string;
  readonly href: string;
  readonly icon: string;
  readonly minimum: UserRole;
}

const page = (name: string, href: string, icon: string, minimum: UserRole = 'user'): NavigationPage => ({
  label: `navigation.${name}`,
  href,
  icon,
  minimum,
});

const ownPages = [
  page('overview', '/dashboard', 'overview'),
  page('keys', '/dashboard/keys', 'key'),
  page('models', '/dashboard/models', 'model'),
  page('usage', '/dashboard/usage', 'usage'),
  page('requests', '/dashboard/request-log', 'log'),
  page('activity', '/dashboard/activity', 'activity'),
  page('chat', '/dashboard/webchat', 'chat'),
  page('autorouter', '/dashboard/autorouter', 'route'),
  page('quality', '/dashboard/qualitative', 'quality'),
  page('billing', '/dashboard/billing', 'billing'),
  page('settings', '/dashboard/settings', 'settings'),
];

const administrationPages = [
  page('operations', '/dashboard/admin', 'activity', 'department_admin'),
  page('alerts', '/dashboard/admin/alerts', 'bell', 'department_admin'),
  page('users', '/dashboard/admin/users', 'user', 'department_admin'),
  page('projects', '/dashboard/admin/projects', 'overview', 'department_admin'),
  page('organisations', '/dashboard/admin/organisations', 'switchboard', 'platform_admin'),
  page('catalogue', '/dashboard/admin/models', 'model', 'org_admin'),
  page('promotions', '/dashboard/admin/promotions', 'billing', 'platform_admin'),
  page('billing-desk', '/dashboard/admin/billing', 'billing', 'platform_admin'),
  page('conversations', '/dashboard/admin/conversations', 'chat', 'org_admin'),
  page('audit', '/dashboard/admin/audit', 'shield', 'org_admin'),
  page('extensions', '/dashboard/admin/extensions', 'plus', 'platform_admin'),
];

export interface ExtensionPages {
  readonly own: readonly NavigationPage[];
  readonly administration: readonly NavigationPage[];
}

export function extensionPages(extensions: readonly LoadedExtension[]): ExtensionPages {
  const pagesIn = (targetGroup: 'own' | 'administration', defaultMinimum: UserRole) =>
    extensions.flatMap(({ id, parts: { navigation = [] } }) =>
      navigation
        .filter(({ group = 'own' }) => group === targetGroup)
        .map(({ name, href, icon = 'switchboard', minimum = defaultMinimum }) => ({
          label: `ext.${id}.navigation.${name}`,
          ...{ href, icon, minimum },
        })),
    );
  return { own: pagesIn('own', 'user'), administration: pagesIn('administration', 'department_admin') };
}

export interface NavigationReader {
  readonly role: UserRole;
  readonly path: string;
  readonly isServed: (path: string) => boolean;
}

export function navigationFor(
  reader: NavigationReader,
  fromExtensions: ExtensionPages,
  translate: Translate,
): NavigationGroup[] {
  const itemsOf = (pages: readonly NavigationPage[]) =>
    pages
      .filter(({ href, minimum }) => atLeast(reader.role, minimum) && reader.isServed(href))
      .map(({ label, href, icon }) => ({
        label: translate(label),
        href,
        icon,
        ...(isCurrent(href, reader.path, pages) ? { current: true } : {}),
      }));
  const administration = itemsOf([...administrationPages, ...fromExtensions.administration]);
  const groups: NavigationGroup[] = [{ items: itemsOf([...ownPages, ...fromExtensions.own]) }];
  if (administration.length > 0) {
    groups.push({ label: translate('navigation.administration'), items: administration });
  }
  return groups;
}

/** Index pages, whose address is a prefix of other pages. */
const INDEX_PAGES = new Set(['/dashboard', '/dashboard/admin']);

const isCurrent = (href: string, path: string, others: readonly { readonly href: string }[]): boolean =>
  path === href ||
  (!INDEX_PAGES.has(href) &&
    path.startsWith(`${href}/`) &&
    !others.some((other) => other.href.startsWith(`${href}/`) && path.startsWith(other.href)));
