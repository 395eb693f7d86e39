export { type Role, roles, isRole, atLeast, mayGrant, isAdministrator } from './roles';
export { platformScope, type Scope, type Actor, scopeOf } from './scope';
