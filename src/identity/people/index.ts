import { Departments } from './departments.service';
import { InviteAdminService } from './invite-admin.service';
import { OrganisationMarkups } from './organisation-markups.service';
import { OrganisationMerge } from './organisation-merge.service';
import { Organisations } from './organisations.service';
import { Projects } from './projects.service';
import { OnOrganisationLeave, UserEditor } from './user-editor.service';
import { UserErasure } from './user-erasure.service';
import { UserRegister } from './user-register.query';

export { type ActorContext, notInOrganisationFault, type EditTarget } from './acting';
export type { ListedDepartment } from './department.query';
export type { ListedInvite } from './invite.query';
export type { MergeData, MergePlan } from './organisation-merge.service';
export type { ListedOrganisation } from './organisation.query';
export type { Markup } from './organisation-markup.query';
export { objectActs, refusalReason, type UserAct, userActs } from './policy';
export type { ListedMember, ListedProject } from './project.query';
export type { ProjectFields } from './projects.service';
export { refuseSuperior } from './superiors';
export type { ListedUser, UserName } from './user-register.query';
export {
  Departments,
  InviteAdminService,
  OnOrganisationLeave,
  OrganisationMarkups,
  OrganisationMerge,
  Organisations,
  Projects,
  UserEditor,
  UserErasure,
  UserRegister,
};

export const peopleProviders = [
  Departments,
  InviteAdminService,
  OrganisationMarkups,
  OrganisationMerge,
  Organisations,
  Projects,
  UserEditor,
  UserErasure,
  UserRegister,
];
