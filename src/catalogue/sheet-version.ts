import { fault } from '../kernel';

/** What a file keeps, the next apply would set back without a word. */
export function refuseManaged({ name, managed }: { readonly name: string; readonly managed: boolean }): void {
  if (!managed) return;
  throw fault('conflict', { message: `"${name}" is kept by a gateway file: change it there and apply it.` });
}
