//! The search of every interleaving: that it misses no schedule, that it finds what is planted, and what it says of small casts.

use std::cell::Cell;
use std::rc::Rc;

use simulation::interleavings::{
    Actor, ActorNo, Acts, Cast, Ending, Fingerprint, Gate, Heard, Play, Stage, casts, explore, replay,
};

/// One number, and whoever writes it.
struct Board(Rc<Cell<u32>>);

impl Stage for Board {
    fn state(&self) -> u128 {
        Fingerprint::of(&self.0.get())
    }

    fn breaches(&self) -> Vec<String> {
        Vec::new()
    }

    fn end(self: Box<Self>, _: Vec<ActorNo>) -> Acts<'static, Ending> {
        Box::pin(async move { Ending { outcome: self.0.get().to_string(), ..Ending::default() } })
    }
}

fn actor(name: &str, acts: Acts<'static, Heard>) -> Actor {
    Actor { name: name.to_owned(), mortal: true, recovers: None, acts }
}

/// Calls `times`, and changes nothing.
fn idler(gate: &Gate, no: ActorNo, times: usize) -> Actor {
    let gate = gate.clone();
    let acts = async move {
        for _ in 0..times {
            gate.step(no, "idles", String::new).await;
        }
        Heard::done("")
    };
    actor("idler", Box::pin(acts))
}

/// Reads the number, and writes what it read and one more.
fn adder(gate: &Gate, no: ActorNo, number: &Rc<Cell<u32>>) -> Actor {
    let (gate, number) = (gate.clone(), Rc::clone(number));
    let acts = async move {
        let seen: u32 = gate.step(no, "reads", || number.get().to_string()).await.parse().expect("a number");
        gate.step(no, "writes", || number.replace(seen + 1).to_string()).await;
        Heard::done("")
    };
    actor("adder", Box::pin(acts))
}

fn play(actors: Vec<Actor>, number: Rc<Cell<u32>>) -> Acts<'static, Play> {
    Box::pin(async move { Play { actors, stage: Box::new(Board(number)) as Box<dyn Stage> } })
}

const TWO_IDLERS: Cast = Cast {
    name: "idlers",
    crashes: 0,
    lost_answers: 0,
    ends: &["0"],
    open: |gate| play(vec![idler(&gate, 0, 4), idler(&gate, 1, 3)], Rc::default()),
};

const ONE_MORTAL: Cast = Cast {
    name: "mortal",
    crashes: 1,
    lost_answers: 0,
    ends: &["0"],
    open: |gate| play(vec![idler(&gate, 0, 3)], Rc::default()),
};

const TWO_ADDERS: Cast = Cast {
    name: "adders",
    crashes: 0,
    lost_answers: 0,
    ends: &["2"],
    open: |gate| {
        let number = Rc::default();
        play(vec![adder(&gate, 0, &number), adder(&gate, 1, &number)], number)
    },
};

#[test]
fn two_actors_of_four_and_three_calls_have_as_many_schedules_as_there_are_ways_to_merge_them() {
    let found = explore(&TWO_IDLERS);
    assert!(found.violation.is_none(), "{:?}", found.violation);
    assert_eq!(found.schedules(), 35, "7 over 3");
    assert_eq!(found.states, 5 * 4);
}

#[test]
fn an_actor_of_three_calls_can_die_before_each_and_after_the_last() {
    assert_eq!(explore(&ONE_MORTAL).schedules(), 3 + 1 + 1);
}

#[test]
fn an_update_that_can_be_lost_is_found_and_its_schedule_replays() {
    let found = explore(&TWO_ADDERS).violation.expect("a lost update");
    assert_eq!(found.lines, ["adder: reads", "adder: reads", "adder: writes", "adder: writes"]);
    let again = replay(&TWO_ADDERS, &found.schedule);
    assert_eq!(again.lines[..4], found.lines[..]);
    assert_eq!(again.lines[4], r#"it ended in "1""#);
}

#[test]
fn the_last_shirt_is_sold_once_and_an_order_sent_twice_is_one_in_every_schedule() {
    for name in ["create+create", "create+repeat"] {
        let cast = casts::ALL.iter().find(|cast| cast.name == name).expect("a cast");
        let found = explore(cast);
        assert!(found.violation.is_none(), "{name}: {:#?}", found.violation);
        assert!(found.schedules() > 20, "{name}: {found:?}");
    }
}
