export type Role =
  'user' | 'department_admin' | 'org_admin' | 'org_owner' | 'platform_admin' | 'platform_owner';

/** An entry of the navigation. Its text is `navigation.<name>` of the extension's messages. */
export interface NavigationEntry {
  readonly name: string;
  /** A page of the extension, below `/x/<id>`. */
  readonly href: string;
  readonly icon?: string;
  /** The least role of people who see it; left out: everybody. */
  readonly minimum?: Role;
  readonly group?: 'own' | 'administration';
}
