export interface FormType {
  /** Contains only the boundary, so that no other parser finds a different one. */
  readonly contentType: string;
  readonly boundary: string;
}

/** Parses the type of a multipart form; null without a boundary, for which a parser would wait forever. */
export function formTypeOf(contentType: string): FormType | null {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"\\]+)"|([^\s;,"]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  return boundary === undefined
    ? null
    : { contentType: `multipart/form-data; boundary="${boundary}"`, boundary };
}
