import {
  actionNames,
  type ActivityEntry,
  actionText,
  type Changes,
  type ExtensionAction,
  objectTextKey,
  objectTypes,
} from '../../audit';
import type { Scope } from '../../kernel';
import {
  type Choice,
  column,
  type DiffModel,
  type FieldModel,
  type Figure,
  type LabelledFigure,
  mixed,
  type RowDetail,
  type Translate,
} from '../../views';
import { addressOf, type HttpRequest, type ListDescription, pathOf, queryOf, scopeWords } from '../../web';
import type { AuditLogQuery } from './audit-log.form';

export interface AuditLogShown {
  readonly request: HttpRequest;
  readonly query: AuditLogQuery;
  readonly scope: Scope;
  readonly timeZone: string;
  readonly translate: Translate;
  /** What extensions put on record. */
  readonly added: readonly ExtensionAction[];
  /** The names of the organisations whose entries are on the page. */
  readonly organisations: ReadonlyMap<number, string>;
}

export function auditLogList(shown: AuditLogShown): ListDescription<ActivityEntry> {
  const { request, scope, timeZone, translate } = shown;
  return {
    heading: translate('audit.heading'),
    scope: `${scopeWords(request, translate, scope)} · ${timeZone}`,
    columns: [
      column('activity.page.time', 'time', ({ occurredAt }) => occurredAt),
      column('activity.page.what', 'text', ({ action }) => actionText(action, translate), 'heading'),
      mixed('activity.page.object', (entry) => objectLink(entry, shown)),
      mixed('activity.page.who', (entry) => actorFigure(entry, request)),
      ...(scope.kind === 'platform'
        ? [
            column<ActivityEntry, 'text'>(
              'audit.organisation',
              'text',
              ({ organisationId }) => organisationOf(organisationId, shown),
              'minor',
            ),
          ]
        : []),
      column('activity.page.address', 'text', ({ address }) => address ?? '–', 'minor'),
    ],
    fields: fieldsOf(shown),
    row: (entry) => ({ detail: detailOf(entry, shown) }),
    nothingYet: { title: translate('audit.nothing-title'), text: translate('audit.nothing-text') },
  };
}

function fieldsOf({ query, translate, added }: AuditLogShown): FieldModel[] {
  const chosen = (name: string, label: string, choices: readonly Choice[]): FieldModel => ({
    id: `filter-${name}`,
    name,
    label: translate(label),
    type: 'select',
    options: [{ value: '', label: translate('list.all') }, ...choices],
  });
  const day = (name: 'from' | 'to'): FieldModel => ({
    id: `filter-${name}`,
    name,
    label: translate(`audit.${name}`),
    type: 'date',
    value: query[name],
  });
  const written = (name: 'actor' | 'object', label: string, placeholder?: string): FieldModel => ({
    id: `filter-${name}`,
    name,
    label: translate(label),
    type: 'search',
    value: query[name],
    width: 'wide',
    filterKey: name === 'actor',
    ...(placeholder === undefined ? {} : { placeholder: translate(placeholder) }),
  });
  return [
    written('actor', 'activity.page.who', 'audit.actor'),
    chosen(
      'action',
      'activity.page.what',
      [...actionNames, ...added].map((name) => ({
        value: name,
        label: actionText(name, translate),
        selected: query.action === name,
      })),
    ),
    chosen(
      'type',
      'activity.page.object',
      objectTypes.map((type) => ({
        value: type,
        label: translate(objectTextKey(type)),
        selected: query.type === type,
      })),
    ),
    written('object', 'audit.object'),
    day('from'),
    day('to'),
  ];
}

function detailOf(entry: ActivityEntry, shown: AuditLogShown): RowDetail {
  const { request, query, translate } = shown;
  return {
    id: `entry-${entry.id}`,
    name: actionText(entry.action, translate),
    href: `${addressOf(pathOf(request), queryOf(request), { open: entry.id })}#entry-${entry.id}`,
    open: query.open === entry.id,
    items: detailsOf(entry, shown),
    ...(entry.changes === null ? {} : { diff: diffOf(entry.changes, translate) }),
  };
}

function objectLink({ object }: ActivityEntry, { request, translate }: AuditLogShown): Figure {
  const { id, label, type } = object;
  const named = translate(objectTextKey(type));
  const href = narrowed(request, { type, object: id ?? label ?? '' });
  return { kind: 'link', value: label ?? (id === null ? named : `${named} ${id}`), href };
}

const narrowed = (request: HttpRequest, changes: Readonly<Record<string, string>>): string =>
  addressOf(pathOf(request), queryOf(request), { ...changes, cursor: null, open: null });

function actorFigure({ actor }: ActivityEntry, request: HttpRequest): Figure {
  if (actor.userId === null || actor.kind !== 'user') return { kind: 'text', value: actor.label };
  return { kind: 'link', value: actor.label, href: narrowed(request, { actor: String(actor.userId) }) };
}

const organisationOf = (id: number | null, { organisations }: AuditLogShown): string =>
  id === null ? '–' : (organisations.get(id) ?? `#${id}`);

/** Marks an entry whose actor is an administrator of another organisation. */
function detailsOf(entry: ActivityEntry, shown: AuditLogShown): LabelledFigure[] {
  const { translate } = shown;
  const { actor, object } = entry;
  const isElsewhere = actor.kind === 'user' && actor.organisationId !== entry.organisationId;
  const text = (key: string, value: string | null): LabelledFigure[] =>
    value === null ? [] : [{ label: translate(key), figure: { kind: 'text', value } }];
  const copied = (key: string, value: string | null): LabelledFigure[] =>
    value === null ? [] : [{ label: translate(key), figure: { kind: 'copy', value } }];
  return [
    ...text('activity.page.who', actor.label),
    ...text('audit.role', actor.role === null ? null : translate(`audit.roles.${actor.role}`)),
    ...text('audit.acting-in', isElsewhere ? organisationOf(entry.organisationId, shown) : null),
    ...text('activity.page.object', object.label),
    ...copied('audit.object-id', object.id),
    ...text('activity.page.reason', entry.reason),
    ...text('activity.page.address', entry.address),
    ...copied('activity.page.request', entry.requestId),
    ...copied('audit.entry', entry.id),
  ];
}

function diffOf(changes: Changes, translate: Translate): DiffModel {
  return {
    caption: translate('audit.changes'),
    rows: Object.entries(changes).map(([field, [before, after]]) => ({
      field,
      ...(before === null ? {} : { before: shownText(before) }),
      ...(after === null ? {} : { after: shownText(after) }),
      kind: before === null ? 'added' : after === null ? 'removed' : 'changed',
    })),
  };
}

const shownText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
