import type { UserRole } from '../kernel';

export const accessMetadata = 'switchboard:access';

export type AccessRule =
  | { readonly kind: 'anyone' }
  | { readonly kind: 'key'; readonly header: 'bearer' | 'either' }
  | { readonly kind: 'root' }
  | { readonly kind: 'signed' }
  | { readonly kind: 'session' }
  | { readonly kind: 'role'; readonly minimum: UserRole };
