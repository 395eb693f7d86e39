export { type UserRole, roles, isRole, atLeast, canGrant, isAdministrator } from './roles';
export { platformScope, type Scope, type Actor, scopeOf } from './scope';
