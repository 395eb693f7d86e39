import type { Acting, ListedUser, OrganisationName, UserName } from '../../identity';
import type { UserPageQuery } from './user-forms';

/** A person as a page shows them to this reader, with the available choices. */
export interface ShownUser {
  readonly user: ListedUser;
  readonly acting: Acting;
  readonly names: {
    readonly organisations: readonly OrganisationName[];
    readonly colleagues: readonly UserName[];
  };
  readonly query: UserPageQuery;
}
