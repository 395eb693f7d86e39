/** Names the repeated member; `path` locates it. */
export class DuplicateNameError extends Error {
  constructor(readonly path: string) {
    super('A name stands twice in an object');
  }
}
