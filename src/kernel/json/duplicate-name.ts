/** A name stands twice in one object; `path` says where. */
export class DuplicateName extends Error {
  constructor(readonly path: string) {
    super('A name stands twice in an object');
  }
}
