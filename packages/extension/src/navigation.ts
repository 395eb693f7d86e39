export type Role =
  'user' | 'department_admin' | 'org_admin' | 'org_owner' | 'platform_admin' | 'platform_owner';

/** An entry of the navigation, labelled by `navigation.<name>` of the extension's messages. */
export interface NavigationEntry {
  readonly name: string;
  /** A page of the extension, below `/x/<id>`. */
  readonly href: string;
  readonly icon?: string;
  /** Minimum role of users who see the entry; defaults to all users. */
  readonly minimum?: Role;
  readonly group?: 'own' | 'administration';
}
