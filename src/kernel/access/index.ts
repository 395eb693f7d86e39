export { type Role, roles, isRole, atLeast, mayGrant, isAdministrator } from './roles';
export { type Scope, type Actor, type ScopeHolder, scopeOf } from './scope';
