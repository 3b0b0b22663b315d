//! The files of a command line, each with the arm that the `--arm` before it names.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};

use crate::model::sample::Arm;

/// The named files and folders in order.
#[derive(Debug, Default)]
pub struct Files {
    /// Each with its arm: the candidate's, until `--arm` says otherwise.
    pub paths: Vec<(Arm, PathBuf)>,
    /// Whether any `--arm` was given.
    pub names_an_arm: bool,
}

fn arm(word: &str) -> Result<Arm, String> {
    match word {
        "A" => Ok(Arm::A),
        "B" => Ok(Arm::B),
        _ => Err("want A (the base) or B (the candidate)".to_owned()),
    }
}

impl FromArgMatches for Files {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let at = |id: &str| matches.indices_of(id).into_iter().flatten();
        let arms: Vec<(usize, Arm)> = at("arm")
            .zip(matches.get_many::<Arm>("arm").into_iter().flatten().copied())
            .collect();
        let of_place = |place: usize| {
            let before = arms.iter().rev().find(|(at, _)| *at < place);
            before.map_or(Arm::B, |(_, arm)| *arm)
        };
        let paths = at("paths").zip(matches.get_many::<PathBuf>("paths").into_iter().flatten());
        Ok(Self {
            paths: paths.map(|(place, path)| (of_place(place), path.clone())).collect(),
            names_an_arm: !arms.is_empty(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Files {
    fn augment_args(command: Command) -> Command {
        let paths = Arg::new("paths")
            .value_name("FILE|DIR")
            .help("Result files, or folders that hold them [default: ingest.path of the gate]")
            .num_args(0..)
            .value_parser(value_parser!(PathBuf));
        let arm = Arg::new("arm")
            .long("arm")
            .value_name("A|B")
            .help("Which arm the files after it are: A, the base, or B, the candidate [default: B]")
            .action(ArgAction::Append)
            .value_parser(arm);
        command.arg(paths).arg(arm)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
