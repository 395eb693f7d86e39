import { fault } from './errors';

export interface Transitions<State extends string> {
  can(from: State, to: State): boolean;
  assert(from: State, to: State): void;
  from(state: State): readonly State[];
}

/** A state machine as one table of permitted transitions. Staying in a state is a transition like any other. */
export function defineTransitions<const State extends string>(
  table: Readonly<Record<State, readonly NoInfer<State>[]>>,
): Transitions<State> {
  // Only own keys count: input such as "constructor" never reaches the prototype.
  const from = (state: State): readonly State[] => (Object.hasOwn(table, state) ? table[state] : []);
  const can = (before: State, after: State): boolean => from(before).includes(after);
  return {
    can,
    from,
    assert(before, after) {
      if (can(before, after)) return;
      throw fault('conflict', {
        message: `The state cannot change from "${before}" to "${after}".`,
        details: { reason: 'state', from: before, to: after, allowed: [...from(before)] },
      });
    },
  };
}
