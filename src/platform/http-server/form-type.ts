export interface FormType {
  /** It has the boundary alone: another reader finds no other one. */
  readonly contentType: string;
  readonly boundary: string;
}

/** The type of a multipart form. Null without a boundary: a parser would wait for the end of the form for ever. */
export function formTypeOf(contentType: string): FormType | null {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"\\]+)"|([^\s;,"]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  return boundary === undefined
    ? null
    : { contentType: `multipart/form-data; boundary="${boundary}"`, boundary };
}
