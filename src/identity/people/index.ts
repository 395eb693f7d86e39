import { Departments } from './departments.service';
import { InviteAdminService } from './invite-admin.service';
import { type Markup, OrganisationMarkups } from './organisation-markups.service';
import { OrganisationMerge } from './organisation-merge.service';
import { Organisations } from './organisations.service';
import { Projects } from './projects.service';
import { OnOrganisationLeave, UserEditor } from './user-editor.service';
import { UserErasure } from './user-erasure.service';
import { UserRegister } from './user-register';

export { type ActorContext, notInOrganisationFault, type EditTarget } from './acting';
export type { ListedDepartment } from './departments.service';
export type { ListedInvite } from './invite-admin.service';
export type { MergeData, MergePlan } from './organisation-merge.service';
export type { ListedOrganisation } from './organisations.service';
export type { Markup };
export { objectActs, refusalReason, type UserAct, userActs } from './policy';
export type { ListedProject, ListedMember, ProjectFields } from './projects.service';
export { refuseSuperior } from './superiors';
export type { ListedUser, UserName } from './user-register';
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
