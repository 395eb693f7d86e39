import { AccountToken } from './accounts/account-token.entity';
import { AttemptCount } from './accounts/attempt-throttle.entity';
import { Invite } from './accounts/invite.entity';
import { LinkedIdentity } from './accounts/linked-identity.entity';
import { Passkey } from './accounts/passkey.entity';
import { RecoveryCode, SecondFactor } from './accounts/second-factor.entity';
import { Department } from './department.entity';
import { LegalAcceptance } from './legal-acceptance.entity';
import { Organisation } from './organisation.entity';
import { Project, ProjectMember } from './project.entity';
import { Session } from './session.entity';
import { UserAccount } from './user-account.entity';

export const identityEntities = [
  Organisation,
  Department,
  UserAccount,
  Project,
  ProjectMember,
  Session,
  LegalAcceptance,
  AccountToken,
  AttemptCount,
  Invite,
  LinkedIdentity,
  Passkey,
  SecondFactor,
  RecoveryCode,
];
