import { Department } from './department.entity';
import { Organisation } from './organisation.entity';
import { Project, ProjectMember } from './project.entity';
import { Session } from './session.entity';
import { UserAccount } from './user-account.entity';

export { IdentityModule } from './identity.module';
export { type Ownership, PayerService, type Standing } from './payer.service';
export { type SessionReading, SessionsService } from './sessions.service';
export { type UserStatus, userTransitions } from './user-status';
export { Organisation, UserAccount };

export const identityEntities = [Organisation, Department, UserAccount, Project, ProjectMember, Session];
