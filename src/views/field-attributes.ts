/** Constraints of a field, as attributes of its control. */
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

const textTypes = new Set(['text', 'search', 'email', 'url', 'tel', 'number', 'password', 'textarea']);

/** Selects the attributes that are valid for a type of control, so that no template repeats the limits. */
export function attributesFor(type: string, field: FieldAttributes): FieldAttributes {
  const { required, pattern, minlength, maxlength, ...numberLimits } = field;
  if (type === 'select' || type.startsWith('date')) return { required };
  if (!textTypes.has(type)) return {};
  if (field.type === 'number') return type === 'textarea' ? { required } : { required, ...numberLimits };
  // Browsers check email addresses themselves, and a textarea has no pattern attribute.
  const hasNoPattern = type === 'email' || type === 'textarea';
  return { required, minlength, maxlength, ...(hasNoPattern ? {} : { pattern }) };
}
