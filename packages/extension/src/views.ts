import type { KeyView } from './ports';
import type { SettledRecord } from './records';

export interface OrganisationView {
  readonly id: number;
  readonly name: string;
  readonly slug: string;
  readonly created_at: string;
}

/** A time is read from SQL as a `Date`. What is not always there is no column. */
type AsRow<Item> = {
  readonly [Name in keyof Item as undefined extends Item[Name] ? never : Name]: Name extends 'created_at'
    ? Date
    : Item[Name];
};

/** The rows of the published views, by the names that SQL knows them by. */
export interface PublishedViews {
  readonly 'contract.request': AsRow<SettledRecord>;
  readonly 'contract.key': AsRow<KeyView>;
  readonly 'contract.organisation': AsRow<OrganisationView>;
}
