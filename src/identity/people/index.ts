import { Departments } from './departments.service';
import { InviteDesk } from './invite-desk.service';
import { type Markup, OrganisationMarkups } from './organisation-markups.service';
import { OrganisationMerge } from './organisation-merge.service';
import { Organisations } from './organisations.service';
import { Projects } from './projects.service';
import { UserEditor } from './user-editor.service';
import { UserErasure } from './user-erasure.service';
import { UserRegister } from './user-register';

export { type Acting, notInOrganisation, type Target } from './acting';
export type { ListedDepartment } from './departments.service';
export type { ListedInvite } from './invite-desk.service';
export type { MergeData, MergePlan } from './organisation-merge.service';
export type { ListedOrganisation } from './organisations.service';
export type { Markup };
export { placeActs, refusalOf, type UserAct, userActs } from './policy';
export type { ListedProject, Member, ProjectFields } from './projects.service';
export { refuseSuperior } from './superiors';
export type { ListedUser, UserName } from './user-register';
export {
  Departments,
  InviteDesk,
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
  InviteDesk,
  OrganisationMarkups,
  OrganisationMerge,
  Organisations,
  Projects,
  UserEditor,
  UserErasure,
  UserRegister,
];
