import type { Acting, ListedUser, OrganisationName, UserName } from '../../identity';
import type { UserPageQuery } from './user-forms';

/** A person as a page shows them, to whom, and what may be chosen there. */
export interface ShownUser {
  readonly user: ListedUser;
  readonly acting: Acting;
  readonly names: {
    readonly organisations: readonly OrganisationName[];
    readonly colleagues: readonly UserName[];
  };
  readonly query: UserPageQuery;
}
