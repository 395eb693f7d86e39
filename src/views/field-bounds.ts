/** A field has its bounds as attributes of its control. */
export interface FieldAttributes {
  readonly required?: boolean;
  readonly type?: 'number';
  readonly step?: string;
  readonly min?: string;
  readonly max?: string;
  readonly minlength?: string;
  readonly maxlength?: string;
  readonly pattern?: string;
}

/** A person types into these; boxes, files and hidden fields have their own ways. */
const typed = new Set(['text', 'search', 'email', 'url', 'tel', 'number', 'password', 'textarea']);

/** A control of this type tells browsers the bounds of its field, so that no template repeats them. */
export function boundsOf(type: string, field: FieldAttributes): FieldAttributes {
  const { required, pattern, minlength, maxlength, ...ofNumber } = field;
  if (type === 'select' || type.startsWith('date')) return { required };
  if (!typed.has(type)) return {};
  if (field.type === 'number') return type === 'textarea' ? { required } : { required, ...ofNumber };
  // An address of mail has the browser's own check, and what has several lines has none.
  const isFree = type === 'email' || type === 'textarea';
  return { required, minlength, maxlength, ...(isFree ? {} : { pattern }) };
}
