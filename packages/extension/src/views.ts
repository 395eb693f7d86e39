import type { KeyView } from './ports';
import type { SettledRecord } from './records';

export interface OrganisationView {
  readonly id: number;
  readonly name: string;
  readonly slug: string;
  readonly created_at: string;
}

/** Row type in SQL: a time is read as `Date`, and optional fields are not columns. */
type AsRow<Item> = {
  readonly [Name in keyof Item as undefined extends Item[Name] ? never : Name]: Name extends 'created_at'
    ? Date
    : Item[Name];
};

/** Rows of the published views, by their names in SQL. */
export interface PublishedViews {
  readonly 'contract.request': AsRow<SettledRecord>;
  readonly 'contract.key': AsRow<KeyView>;
  readonly 'contract.organisation': AsRow<OrganisationView>;
}
