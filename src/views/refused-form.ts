import Handlebars from 'handlebars';

/**
 * Shows a refused form again on its own page. The page is rendered as usual; then this inserts the typed values and
 * marks the faulty fields. It edits the engine's HTML, whose attributes are quoted and escaped, so that no template
 * needs code for it.
 */

export interface RefusedForm {
  /** Where it was sent, without its query. */
  readonly path: string;
  readonly posted: Readonly<Record<string, unknown>>;
  /** Why, by the names of fields; a name without a field in the form is told above it. */
  readonly errors: ReadonlyMap<string, string>;
  /** A concurrent edit: fields show the stored values, and this lists the typed ones. */
  readonly typed?: (value: string) => string;
}

/** The pieces that are put into the page, as markup. */
export interface RefusalPieces {
  /** It stands above the form, with what belongs to no field. */
  banner(others: readonly string[]): string;
  error(id: string, text: string): string;
  help(text: string): string;
}

interface Control {
  readonly start: number;
  readonly markup: string;
  /** It is `input`, `select` or `textarea`. */
  readonly kind: string;
  readonly name: string;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const ATTRIBUTES = String.raw`(?:[^>"]|"[^"]*")*`;
const form = new RegExp(`<form\\b(${ATTRIBUTES})>[^]*?</form>`, 'g');
const control = new RegExp(`<(select|textarea)\\b${ATTRIBUTES}>[^]*?</\\1>|<(input)\\b${ATTRIBUTES}>`, 'g');
const openTag = new RegExp(`^<\\w+${ATTRIBUTES}>`);
/** Their values are no one's typing, or must never come back. */
const unfilled = new Set(['hidden', 'password', 'file', 'submit']);

const escape = (text: string): string => Handlebars.escapeExpression(text);
const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#x27;': "'",
  '&#x60;': '`',
  '&#x3D;': '=',
};
const unescape = (markup: string): string =>
  markup.replaceAll(/&(?:amp|lt|gt|quot|#x27|#x60|#x3D);/g, (entity) => entities[entity] ?? entity);

/** Every form that changes something says on which page it stands. */
export const formPageField = '_page';

/** A hidden field that makes a form sent twice act once: it is kept, so that a second try is the same form. */
const formTokenField = 'token';

export function withFormPages(html: string, address: string): string {
  const page = `name="${formPageField}" value="${escape(address)}"`;
  return html.replaceAll(form, (markup) => {
    const tag = openTag.exec(markup)?.[0] ?? '';
    if (!tag.includes(' method="post"')) return markup;
    if (!markup.includes(' formmethod="get"'))
      return `${tag}<input type="hidden" ${page}>${markup.slice(tag.length)}`;
    // What the other button asks by GET would show the page in the address.
    return markup.replaceAll(/<button(?=[\s>])(?![^>]*\s(?:formmethod|name)=)/g, `<button ${page}`);
  });
}

/** The first field that a page describes as invalid has the focus when it opens. */
export function withFocusOnFirstError(html: string): string {
  const at = html.indexOf(' aria-invalid="true"');
  if (at === -1) return html;
  const unfocused = html.replaceAll(
    /(<(?:input|select|textarea|button)\b(?:[^>"]|"[^"]*")*?) autofocus(?=[ >])/g,
    '$1',
  );
  return unfocused.replace(' aria-invalid="true"', ' aria-invalid="true" autofocus');
}

/** Puts a piece of markup on top of what a page shows. */
export function withNotice(html: string, piece: string): string {
  const main = new RegExp(`<main\\b${ATTRIBUTES}>`).exec(html);
  const at = main === null ? 0 : main.index + main[0].length;
  return apply(html, [insertion(at, piece)]);
}

export function withRefusal(html: string, refused: RefusedForm, pieces: RefusalPieces): string {
  const place = placeOfForm(html, refused);
  if (place === null) return withNotice(html, pieces.banner([...refused.errors.values()]));
  const controls = controlsOf(html, place);
  const edits = controls.flatMap(({ markup, start }, index) => {
    const kept = keptMarkup(controls, index, refused);
    return kept === markup ? [] : [{ start, end: start + markup.length, text: kept }];
  });
  const shown = new Set<string>();
  const marks = controls.flatMap((one) => {
    const text = refused.errors.get(one.name);
    if (text === undefined || shown.has(one.name) || typeOf(one) === 'hidden') return [];
    shown.add(one.name);
    return [{ control: one, text }];
  });
  const others = [...refused.errors].filter(([name]) => !shown.has(name)).map(([, text]) => text);
  return apply(html, [
    ...openedAround(html, [place.start, ...shownAgain(controls, refused)]),
    insertion(place.start, pieces.banner(others)),
    ...withMarks(html, edits, marks, pieces),
    ...typedNotes(html, controls, refused, pieces),
  ]);
}

const insertion = (at: number, text: string): Edit => ({ start: at, end: at, text });

/** From the end, so that places stay; what is replaced goes before what is put in front of it. */
function apply(html: string, edits: readonly Edit[]): string {
  let result = html;
  for (const { start, end, text } of [...edits].sort(
    (one, other) => other.start - one.start || other.end - one.end,
  ))
    result = result.slice(0, start) + text + result.slice(end);
  return result;
}

function attributeOf(markup: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(openTag.exec(markup)?.[0] ?? '')?.[1];
  return value === undefined ? undefined : unescape(value);
}

const typeOf = ({ kind, markup }: Pick<Control, 'kind' | 'markup'>): string =>
  kind === 'input' ? (attributeOf(markup, 'type') ?? 'text') : kind;

function withAttribute(markup: string, name: string, value: string | null): string {
  const tag = openTag.exec(markup)?.[0] ?? '';
  const bare = tag.replace(new RegExp(`\\s${name}(?:="[^"]*")?(?=[\\s>])`), '');
  const given =
    value === null ? '' : ` ${name}${value === '' && name !== 'value' ? '' : `="${escape(value)}"`}`;
  return `${bare.slice(0, -1)}${given}>${markup.slice(tag.length)}`;
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly id: string | undefined;
}

/** Several forms may lead to one address, one a row: the hidden fields tell them apart. */
function placeOfForm(html: string, { path, posted }: RefusedForm): Place | null {
  let best: { place: Place; matches: number } | null = null;
  for (const found of html.matchAll(form)) {
    const action = attributeOf(found[0], 'action') ?? '';
    if (attributeOf(found[0], 'method') !== 'post' || action.split(/[?#]/)[0] !== path) continue;
    const place = { start: found.index, end: found.index + found[0].length, id: attributeOf(found[0], 'id') };
    const hidden = controlsOf(html, place).filter((one) => typeOf(one) === 'hidden');
    const matches = hidden.filter(
      ({ name, markup }) => listOf(posted[name])[0] === (attributeOf(markup, 'value') ?? ''),
    ).length;
    const names = controlsOf(html, place).filter(({ name }) => name in posted).length;
    const score = matches * 100 + names;
    if (best === null || score > best.matches) best = { place, matches: score };
  }
  return best?.place ?? null;
}

function controlsOf(html: string, { start, end, id }: Place): Control[] {
  return [...html.matchAll(control)].flatMap((found) => {
    const [markup, kind = found[2] ?? ''] = found;
    const owner = attributeOf(markup, 'form');
    const isOwn = owner === undefined ? found.index > start && found.index < end : owner === id;
    const name = attributeOf(markup, 'name');
    return isOwn && name !== undefined ? [{ start: found.index, markup, kind, name }] : [];
  });
}

const listOf = (value: unknown): string[] =>
  (Array.isArray(value) ? (value as unknown[]) : value === undefined ? [] : [value]).filter(
    (one): one is string => typeof one === 'string',
  );

/** What was typed into it: fields that a form repeats are told apart by their order. */
function typedInto(
  controls: readonly Control[],
  index: number,
  posted: RefusedForm['posted'],
): string | null {
  const { name } = controls[index] as Control;
  const order = controls
    .slice(0, index)
    .filter((one) => one.name === name && typeOf(one) !== 'hidden').length;
  return listOf(posted[name])[order] ?? null;
}

function keptMarkup(controls: readonly Control[], index: number, refused: RefusedForm): string {
  const { posted, typed, errors } = refused;
  const one = controls[index] as Control;
  const { markup, name } = one;
  const type = typeOf(one);
  if (type === 'hidden' && name === formTokenField && !errors.has(name))
    return withAttribute(markup, 'value', listOf(posted[name])[0] ?? attributeOf(markup, 'value') ?? '');
  if (typed !== undefined || unfilled.has(type)) return markup;
  if (type === 'checkbox' || type === 'radio') {
    const isTicked = listOf(posted[name]).includes(attributeOf(markup, 'value') ?? 'on');
    return withAttribute(markup, 'checked', isTicked ? '' : null);
  }
  const value = typedInto(controls, index, posted);
  if (value === null) return markup;
  if (type === 'textarea') return `${openTag.exec(markup)?.[0] ?? ''}${escape(value)}</textarea>`;
  return type === 'select' ? withChoice(markup, value) : withAttribute(markup, 'value', value);
}

/** A choice that is not offered any more leaves the list as it was. */
function withChoice(markup: string, value: string): string {
  const options = /<option\b(?:[^>"]|"[^"]*")*>/g;
  const isOffered = [...markup.matchAll(options)].some(([tag]) => attributeOf(tag, 'value') === value);
  if (!isOffered) return markup;
  return markup.replaceAll(options, (tag) =>
    withAttribute(tag, 'selected', attributeOf(tag, 'value') === value ? '' : null),
  );
}

interface Mark {
  readonly control: Control;
  readonly text: string;
}

function withMarks(
  html: string,
  edits: readonly Edit[],
  marks: readonly Mark[],
  pieces: RefusalPieces,
): Edit[] {
  const byStart = new Map(edits.map((edit) => [edit.start, edit]));
  const notes = marks.map(({ control: { start, markup, name }, text }) => {
    const id = `${(attributeOf(markup, 'id') ?? name).replaceAll(/[^\w-]/g, '-')}-error`;
    const described = attributeOf(markup, 'aria-describedby');
    const kept = byStart.get(start)?.text ?? markup;
    const marked = withAttribute(
      withAttribute(kept, 'aria-describedby', described === undefined ? id : `${id} ${described}`),
      'aria-invalid',
      'true',
    );
    byStart.set(start, { start, end: start + markup.length, text: marked });
    return insertion(placeOfNote(html, start + markup.length), pieces.error(id, text));
  });
  return [...byStart.values(), ...notes];
}

/** The note stands below the field, or below the heading of the group it belongs to. */
function placeOfNote(html: string, after: number): number {
  const group = html.lastIndexOf('<fieldset', after);
  if (group !== -1 && !html.slice(group, after).includes('</fieldset>')) {
    const legend = html.indexOf('</legend>', group);
    if (legend !== -1 && legend < after) return legend + '</legend>'.length;
  }
  const closing = /<\/(?:div|td|th|form|p|li)>/g;
  closing.lastIndex = after;
  const end = closing.exec(html)?.index ?? after;
  // Before the help of the field, which is a paragraph of its own.
  const paragraph = html.slice(after, end).search(/<p\b/);
  return paragraph === -1 ? end : after + paragraph;
}

function typedNotes(
  html: string,
  controls: readonly Control[],
  { posted, typed }: RefusedForm,
  pieces: RefusalPieces,
): Edit[] {
  if (typed === undefined) return [];
  return controls.flatMap((one, index) => {
    const type = typeOf(one);
    if (unfilled.has(type) || type === 'checkbox' || type === 'radio') return [];
    const value = typedInto(controls, index, posted);
    if (value === null || value === storedIn(one)) return [];
    const words = type === 'select' ? labelOf(one.markup, value) : value;
    return [insertion(placeOfNote(html, one.start + one.markup.length), pieces.help(typed(words)))];
  });
}

function storedIn({ kind, markup }: Control): string {
  if (kind === 'textarea')
    return unescape(markup.slice(openTag.exec(markup)?.[0].length, -'</textarea>'.length));
  if (kind === 'input') return attributeOf(markup, 'value') ?? '';
  const options = [...markup.matchAll(/<option\b(?:[^>"]|"[^"]*")*>/g)].map(([tag]) => tag);
  const chosen = options.find((tag) => / selected[\s>]/.test(tag)) ?? options[0] ?? '';
  return attributeOf(chosen, 'value') ?? '';
}

const labelOf = (markup: string, value: string): string =>
  [...markup.matchAll(/<option\b((?:[^>"]|"[^"]*")*)>([^<]*)/g)].find(
    ([tag]) => attributeOf(tag.slice(0, tag.indexOf('>') + 1), 'value') === value,
  )?.[2] ?? value;

/** What folds the form away is open. */
function openedAround(html: string, places: readonly number[]): Edit[] {
  const opened = new Map<number, Edit>();
  for (const before of places) {
    const open: { at: number; tag: string }[] = [];
    for (const { 0: tag, index } of html
      .slice(0, before)
      .matchAll(/<details\b(?:[^>"]|"[^"]*")*>|<\/details>/g)) {
      if (tag === '</details>') open.pop();
      else open.push({ at: index, tag });
    }
    for (const { at, tag } of open) {
      if (!/ open(?=[\s>])/.test(tag)) opened.set(at, insertion(at + '<details'.length, ' open'));
    }
  }
  return [...opened.values()];
}

/** Where a field stands that is wrong, or that holds something else than the page had. */
const shownAgain = (controls: readonly Control[], { posted, errors }: RefusedForm): number[] =>
  controls.flatMap((one, index) => {
    const typed = typedInto(controls, index, posted);
    const isChanged = typed !== null && typed !== storedIn(one);
    return errors.has(one.name) || isChanged ? [one.start] : [];
  });
