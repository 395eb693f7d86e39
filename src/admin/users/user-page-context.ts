import type { ActorContext, ListedUser, OrganisationName, UserName } from '../../identity';
import type { UserPageQuery } from './users.dto';

export interface UserPageContext {
  readonly user: ListedUser;
  readonly acting: ActorContext;
  readonly names: {
    readonly organisations: readonly OrganisationName[];
    readonly colleagues: readonly UserName[];
  };
  readonly query: UserPageQuery;
}
