import type { ManagedKey } from '../../keys';
import type { Page } from '../../platform';
import { type Between, choices, type Group, QUARANTINE_PATH, type ProcessorFinding } from '../../quarantine';
import { column, type Figure, type LabelledFigure, mixed, tableOf } from '../../views';
import type { Localisation } from '../../web';
import { choicesOf } from '../pages/choices';
import { actOf, type ObjectPageModel, type SectionModel } from '../pages/object-page';

type Words = Localisation['translate'];

const fact = (label: string, figure: Figure): LabelledFigure => ({ label, figure });
const text = (value: string): Figure => ({ kind: 'text', value });
const number = (value: number): Figure => ({ kind: 'number', value });
const time = (value: Date | string | null): Figure => ({ kind: 'time', value });

export interface QuarantineShown {
  readonly between: Between;
  readonly keys: Page<ManagedKey>;
}

export function quarantinePage(
  { between, keys }: QuarantineShown,
  { translate }: Localisation,
): ObjectPageModel {
  const isOpen = between.row.releasedAt === null;
  const sections = [
    aboutSection(between, translate),
    ...(isOpen ? [releaseSection(between, translate)] : []),
    chargesSection(between, translate),
    ...(between.nodes.length > 0 ? [nodesSection(between, translate)] : []),
    ...(between.row.findings === null ? [] : [paymentsSection(between.row.findings.processor, translate)]),
    ...(between.taps.length > 0 ? [tapsSection(between, translate)] : []),
    ...(isOpen ? [keysSection(between, keys, translate)] : []),
  ];
  return {
    page: { heading: translate('quarantine.heading'), scope: translate('quarantine.scope'), sections },
  };
}

function aboutSection({ row, journals }: Between, translate: Words): SectionModel {
  const { ended, findings, trouble, releasedAt } = row;
  const said = (key: string, figure: Figure): LabelledFigure => fact(translate(`quarantine.${key}`), figure);
  return {
    id: 'about',
    heading: translate('quarantine.about'),
    facts: [
      said('moment', time(row.moment)),
      said('restored', time(row.restoredAt)),
      ...(row.backup === null ? [] : [said('backup', { kind: 'code', value: row.backup } as const)]),
      said('ended-sessions', number(ended.sessions)),
      said('ended-links', number(ended.links)),
      said('ended-invitations', number(ended.invitations)),
      said('journals-set-aside', number(journals.length)),
      ...Object.entries(findings?.jobs ?? {}).map(([queue, count]) =>
        fact(translate('quarantine.jobs', { queue }), number(count)),
      ),
      ...(releasedAt === null ? [] : [said('released', time(releasedAt))]),
      ...(releasedAt === null && row.decidedAt !== null ? [said('decided', time(row.decidedAt))] : []),
      ...(trouble === null ? [] : [said('trouble', text(trouble))]),
      said('looked', findings === null ? text(translate('quarantine.not-looked')) : time(findings.at)),
    ],
    ...(releasedAt === null
      ? {
          acts: [
            actOf(
              {
                id: 'look',
                label: translate('quarantine.look'),
                action: `${QUARANTINE_PATH}/look`,
                note: translate('quarantine.look-note'),
                submit: translate('quarantine.look'),
                withoutReason: true,
              },
              translate,
            ),
          ],
        }
      : {}),
  };
}

function releaseSection({ row, needed }: Between, translate: Words): SectionModel {
  const field = (group: Group) => ({
    id: `release-${group}`,
    name: group,
    type: 'select' as const,
    label: translate(`quarantine.group.${group}`),
    help: translate(`quarantine.help.${group}`),
    required: true,
    options: choicesOf(
      choices[group] as readonly string[],
      row.decisions?.[group] ?? '',
      (choice) => translate(`quarantine.choice.${group}.${choice}`),
      translate('quarantine.choose'),
    ),
  });
  return {
    id: 'release',
    heading: translate('quarantine.release'),
    acts: [
      actOf(
        {
          id: 'decide',
          label: translate('quarantine.decide'),
          action: `${QUARANTINE_PATH}/release`,
          note: translate('quarantine.release-note'),
          submit: translate('quarantine.release'),
          fields: needed.map(field),
          withoutReason: true,
          danger: true,
          open: true,
        },
        translate,
      ),
    ],
  };
}

const chargesSection = ({ charges }: Between, translate: Words): SectionModel => ({
  id: 'charges',
  heading: translate('quarantine.charges'),
  table: tableOf(
    charges,
    {
      caption: translate('quarantine.charges'),
      columns: [
        mixed(
          'quarantine.key',
          ({ name, publicId }) => ({
            ...text(name ?? translate('quarantine.unknown-key')),
            ...(publicId === null ? {} : { note: publicId }),
          }),
          'heading',
        ),
        column('quarantine.requests', 'number', ({ requests }) => requests),
        column('quarantine.cost', 'cost', ({ costNano }) => BigInt(costNano)),
        column('quarantine.requests-after', 'number', ({ requestsAfter }) => requestsAfter),
        column('quarantine.cost-after', 'cost', ({ costNanoAfter }) => BigInt(costNanoAfter)),
      ],
      empty: { title: translate('quarantine.no-charges'), text: translate('quarantine.no-charges-text') },
    },
    translate,
  ),
});

const nodesSection = ({ nodes }: Between, translate: Words): SectionModel => ({
  id: 'nodes',
  heading: translate('quarantine.nodes'),
  table: tableOf(
    nodes,
    {
      caption: translate('quarantine.nodes'),
      columns: [
        column('quarantine.node', 'code', ({ node }) => node, 'heading'),
        column('quarantine.journal', 'text', ({ journal }) => journal, 'minor'),
        column('quarantine.heard', 'time', ({ heardAt }) => heardAt, 'minor'),
        column('quarantine.held', 'money', ({ held }) => held.reduce((sum, { amount }) => sum + amount, 0n)),
      ],
      empty: { title: '', text: '' },
    },
    translate,
  ),
});

function paymentsSection(found: ProcessorFinding, translate: Words): SectionModel {
  const section = { id: 'payments', heading: translate('quarantine.payments') };
  if (found.state === 'off')
    return {
      ...section,
      facts: [fact(translate('quarantine.processor'), text(translate('quarantine.processor-off')))],
    };
  if (found.state === 'unreached')
    return { ...section, facts: [fact(translate('quarantine.processor-unreached'), text(found.error))] };
  return {
    ...section,
    table: tableOf(
      found.differences,
      {
        caption: translate('quarantine.payments'),
        columns: [
          column('quarantine.payment', 'code', ({ intentId }) => intentId, 'heading'),
          column('quarantine.difference', 'text', ({ problem }) =>
            translate(`quarantine.problem.${problem}`),
          ),
          column('quarantine.ours', 'money', ({ oursCents }) => nanoOf(oursCents)),
          column('quarantine.theirs', 'money', ({ theirsCents }) => nanoOf(theirsCents)),
        ],
        empty: {
          title: translate('quarantine.no-differences'),
          text: translate('quarantine.no-differences-text', { count: found.payments }),
        },
      },
      translate,
    ),
  };
}

const NANO_PER_CENT = 10_000_000n;
const nanoOf = (cents: string): bigint => BigInt(cents) * NANO_PER_CENT;

const tapsSection = ({ taps }: Between, translate: Words): SectionModel => ({
  id: 'taps',
  heading: translate('quarantine.taps'),
  table: tableOf(
    taps,
    {
      caption: translate('quarantine.taps'),
      columns: [
        column('taps.name', 'code', ({ name }) => name, 'heading'),
        column('taps.backlog', 'number', ({ backlog }) => Number(backlog)),
        column('taps.oldest', 'time', ({ oldestAt }) => oldestAt, 'minor'),
        column('taps.succeeded', 'time', ({ succeededAt }) => succeededAt, 'minor'),
      ],
      empty: { title: '', text: '' },
    },
    translate,
  ),
});

const keysSection = ({ keysAlive }: Between, keys: Page<ManagedKey>, translate: Words): SectionModel => ({
  id: 'keys',
  heading: translate('quarantine.keys'),
  scope: translate('quarantine.keys-scope', { count: keysAlive }),
  table: tableOf(
    keys.rows,
    {
      caption: translate('quarantine.keys'),
      columns: [
        mixed('quarantine.key', ({ name, publicId }) => ({ ...text(name), note: publicId }), 'heading'),
        column('quarantine.key-created', 'time', ({ createdAt }) => createdAt),
        column('quarantine.key-maker', 'text', ({ createdBy }) => createdBy, 'minor'),
      ],
      empty: { title: translate('quarantine.no-keys'), text: translate('quarantine.no-keys-text') },
    },
    translate,
  ),
  acts: [
    actOf(
      {
        id: 'revoke-key',
        label: translate('quarantine.revoke-key'),
        action: `${QUARANTINE_PATH}/revoke-key`,
        note: translate('quarantine.revoke-key-note'),
        submit: translate('quarantine.revoke-key'),
        fields: [
          {
            id: 'key',
            name: 'key',
            label: translate('quarantine.key-id'),
            required: true,
            autocomplete: 'off',
            suggestions: keys.rows.map(({ publicId, name }) => ({ value: publicId, label: name })),
          },
        ],
        withoutReason: true,
        danger: true,
      },
      translate,
    ),
  ],
});
